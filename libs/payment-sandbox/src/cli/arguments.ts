import { existsSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { isFields, isHttpAddress } from '../common/input.js';
import { durationMs, type Duration } from '../common/time.js';
import { demoShops } from '../console/first-shops.js';
import type { Shop } from '../model/entities.js';
import type { ShopInput } from '../model/options.js';
import { checkShop, mergeShopSettings } from '../model/shop-settings.js';
import type { StartOptions } from '../start-payment-sandbox.js';

/** The command line or the environment is wrong. */
export class UsageError extends Error {}

export interface ProgramOptions extends Omit<StartOptions, 'log'> {
  /** Which requests and postbacks the program prints a line for: all, those with a problem, or none. */
  log: 'all' | 'problems' | 'none';
}

const LOGS = ['all', 'problems', 'none'] as const;

/**
 * @param command how the program was started
 * @param data the default of `--data`
 */
export const help = (command: string, data: string): string => `Usage: ${command} [options]

Runs a sandbox of the payment acceptance service, for development.

  -p, --port PORT             port to listen on; 0 picks a free port      SANDBOX_PORT      4010
      --host ADDRESS          address to listen on. Beyond this machine   SANDBOX_HOST      127.0.0.1
                              (0.0.0.0) anyone who reaches it can use
                              the API and the payer's pages; the console
                              and /sandbox stay limited to this machine
      --control-hosts NAMES   comma-separated host names under which      SANDBOX_CONTROL_HOSTS
                              other machines may use the console and      none
                              /sandbox. They can then read every token
                              and change everything
  -d, --data FOLDER           keeps the state in this folder; "" keeps    SANDBOX_DATA      ${data}
                              it in memory
  -s, --shop-url URL          your application, which the two demo        SANDBOX_SHOP_URL  http://127.0.0.1:3000
                              shops call, with its global prefix, as in
                              http://127.0.0.1:3000/api
      --shops FILE            JSON file with your own shops instead:      SANDBOX_SHOPS
                              { "17": { "apiToken": "…", "resultUrl": "…" } }
      --pay-url URL           address of the payer's pages                SANDBOX_PAY_URL   that of the API call
      --processing-time TIME  how long a payment on the payer's page      SANDBOX_PROCESSING_TIME
                              stays in NEW, and again in PROCESS: 0s, 10s                   500ms
      --log WHAT              which requests and postbacks to print a     SANDBOX_LOG       all
                              line for: all, problems, or none
      --diagnose yes|no       if a shop refuses a postback, sends more    SANDBOX_DIAGNOSE  no
                              postbacks, for an order that cannot
                              exist, to find out why
      --version               shows the version
  -h, --help                  shows this help

The environment variables on the right are equivalent; the last column is the default.

The demo shops: demo-main, token sandbox-main-token-0123456789abcdef
                demo-eu,   token sandbox-eu-token-0123456789abcdef
`;

/**
 * Reads the options from the command line, then from the environment. Undefined if `--help` is given.
 * @throws UsageError
 */
export function readArguments(args: string[], env: NodeJS.ProcessEnv): ProgramOptions | undefined {
  const { values } = parse(args);
  if (values.help) return undefined;
  // An option's variable has its name: SANDBOX_PAY_URL is --pay-url.
  const settingOf = (option: Setting, otherwise = ''): string =>
    values[option] ?? (env[`SANDBOX_${option.toUpperCase().replaceAll('-', '_')}`] || otherwise);
  const dataDir = settingOf('data');
  const shops = settingOf('shops');
  const payUrl = settingOf('pay-url');
  const controlHosts = settingOf('control-hosts')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  return {
    port: readPort(settingOf('port', '4010')),
    host: settingOf('host', '127.0.0.1'),
    controlHosts,
    shops: shops ? readShopsFile(shops) : demoShops(readShopUrl(settingOf('shop-url', 'http://127.0.0.1:3000'))),
    processingTime: readDuration(settingOf('processing-time', '500ms')),
    log: readLog(settingOf('log', 'all')),
    diagnose: readDiagnose(settingOf('diagnose', 'no')),
    ...(dataDir && { dataDir: readFolder(dataDir) }),
    ...(payUrl && { payUrl: readPayUrl(payUrl) }),
  };
}

type Setting = Exclude<keyof ReturnType<typeof parse>['values'], 'help' | 'version'>;

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        port: { type: 'string', short: 'p' },
        host: { type: 'string' },
        'control-hosts': { type: 'string' },
        data: { type: 'string', short: 'd' },
        'shop-url': { type: 'string', short: 's' },
        shops: { type: 'string' },
        'pay-url': { type: 'string' },
        'processing-time': { type: 'string' },
        log: { type: 'string' },
        diagnose: { type: 'string' },
        version: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}. See --help.`);
  }
}

function readAddress(text: string, what: string): string {
  if (isHttpAddress(text)) return text;
  throw new UsageError(`${what} must be an http or https address, not "${text}"`);
}

function readShopUrl(text: string): string {
  return readAddress(text, "Your application's address (--shop-url, SANDBOX_SHOP_URL)");
}

function readPayUrl(text: string): string {
  const what = "The address of the payer's pages (--pay-url, SANDBOX_PAY_URL)";
  const { pathname, origin } = new URL(readAddress(text, what));
  // The pages link to each other from the root.
  if (pathname !== '/') throw new UsageError(`${what} must have no path, not "${pathname}"`);
  return origin;
}

function readDuration(text: string): Duration {
  try {
    durationMs(text, 'The processing time (--processing-time, SANDBOX_PROCESSING_TIME)');
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  return text as Duration;
}

function readFolder(text: string): string {
  const folder = resolve(text);
  if (!existsSync(folder) || statSync(folder).isDirectory()) return folder;
  throw new UsageError(`The folder for the state (--data, SANDBOX_DATA) is a file: ${folder}`);
}

function readPort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) {
    throw new UsageError(`The port (--port, SANDBOX_PORT) must be a number from 0 to 65535, not "${text}"`);
  }
  return port;
}

function readDiagnose(text: string): boolean {
  if (text === 'yes' || text === 'no') return text === 'yes';
  throw new UsageError(`The diagnosis setting (--diagnose, SANDBOX_DIAGNOSE) must be yes or no, not "${text}"`);
}

function readLog(text: string): ProgramOptions['log'] {
  const log = LOGS.find((each) => each === text);
  if (!log) throw new UsageError(`The log (--log, SANDBOX_LOG) must be one of ${LOGS.join(', ')}, not "${text}"`);
  return log;
}

/** @throws UsageError that names file, shop and field */
function readShopsFile(file: string): Record<string, ShopInput> {
  const refuse = (reason: string) => new UsageError(`The shops file (--shops, SANDBOX_SHOPS) ${file}: ${reason}`);
  let shops: unknown;
  try {
    shops = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw refuse((error as Error).message);
  }
  if (!isFields(shops)) throw refuse('it must contain a JSON object of shops by id');
  const read: Shop[] = [];
  for (const [id, settings] of Object.entries(shops)) {
    try {
      const shop = { id, ...mergeShopSettings(id, settings, undefined) };
      checkShop(shop, read);
      read.push(shop);
    } catch (error) {
      throw refuse(`the shop "${id}": ${(error as Error).message}`);
    }
  }
  if (read.length === 0) throw refuse('it defines no shop');
  return shops as Record<string, ShopInput>;
}
