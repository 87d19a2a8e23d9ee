import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Duration } from '../common/duration.js';
import { isFields } from '../common/input.js';
import { demoShops } from '../console/demo-shops.js';
import type { ShopInput } from '../model/options.js';
import type { StartOptions } from '../start-payment-sandbox.js';

export const HELP = `Usage: nestjs-payment-sandbox [options]

Runs a sandbox of the payment acceptance service on 127.0.0.1, for development.

  -p, --port PORT             port to listen on; 0 takes any free one     SANDBOX_PORT      4010
  -d, --data FOLDER           keeps the state in this folder              SANDBOX_DATA      in memory
  -s, --shop-url URL          your application, which the two demo        SANDBOX_SHOP_URL  http://127.0.0.1:3000
                              shops call
      --shops FILE            JSON file with shops of yours instead:      SANDBOX_SHOPS
                              { "17": { "apiToken": "…", "resultUrl": "…" } }
      --pay-url URL           address of the payer's pages                SANDBOX_PAY_URL   that of the API call
      --processing-time TIME  how long a payment stays in NEW, and        SANDBOX_PROCESSING_TIME
                              again in PROCESS: 0s, 500ms, 10s                              500ms
  -h, --help                  shows this

What stands in capitals on the right can be set in the environment instead; then comes the default.

The demo shops: demo-main, token sandbox-main-token-0123456789abcdef
                demo-eu,   token sandbox-eu-token-0123456789abcdef
`;

/** The command line, or the environment behind it, is wrong. */
export class UsageError extends Error {}

/**
 * What to start, from the command line and, for what it leaves out, the environment. `undefined` where help is asked for.
 * @throws UsageError
 */
export function readArguments(args: string[], env: NodeJS.ProcessEnv): StartOptions | undefined {
  const { values } = parse(args);
  if (values.help) return undefined;
  const port = values.port ?? (env['SANDBOX_PORT'] || '4010');
  const dataDir = values.data ?? env['SANDBOX_DATA'];
  const shops = values.shops ?? env['SANDBOX_SHOPS'];
  const shopUrl = values['shop-url'] ?? (env['SANDBOX_SHOP_URL'] || 'http://127.0.0.1:3000');
  const payUrl = values['pay-url'] ?? env['SANDBOX_PAY_URL'];
  const processingTime = values['processing-time'] ?? (env['SANDBOX_PROCESSING_TIME'] || '500ms');
  return {
    port: readPort(port),
    shops: shops ? readShops(shops) : demoShops(shopUrl),
    processingTime: processingTime as Duration, // what is no duration is refused at the start
    ...(dataDir && { dataDir: resolve(dataDir) }),
    ...(payUrl && { payUrl }),
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        port: { type: 'string', short: 'p' },
        data: { type: 'string', short: 'd' },
        'shop-url': { type: 'string', short: 's' },
        shops: { type: 'string' },
        'pay-url': { type: 'string' },
        'processing-time': { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}. --help shows what there is.`);
  }
}

function readPort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) {
    throw new UsageError(`The port (--port, SANDBOX_PORT) must be a number from 0 to 65535, not "${text}"`);
  }
  return port;
}

/** The settings of each are checked where the sandbox takes them. */
function readShops(file: string): Record<string, ShopInput> {
  const refuse = (reason: string) => new UsageError(`The file of shops (--shops, SANDBOX_SHOPS) ${file}: ${reason}`);
  let shops: unknown;
  try {
    shops = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw refuse((error as Error).message);
  }
  if (!isFields(shops)) throw refuse('it must hold a JSON object of shops by id');
  return shops as Record<string, ShopInput>;
}
