import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { durationMs, type Duration } from '../common/duration.js';
import { demoShops } from '../console/demo-shops.js';
import type { StartOptions } from '../start-payment-sandbox.js';
import { readShopsFile } from './shops-file.js';
import { UsageError } from './usage-error.js';

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
  const settingOf = (
    option: Exclude<keyof typeof values, 'help' | 'version'>,
    variable: string,
    otherwise = '',
  ): string => values[option] ?? (env[variable] || otherwise);
  const dataDir = settingOf('data', 'SANDBOX_DATA');
  const shops = settingOf('shops', 'SANDBOX_SHOPS');
  const payUrl = settingOf('pay-url', 'SANDBOX_PAY_URL');
  const controlHosts = settingOf('control-hosts', 'SANDBOX_CONTROL_HOSTS')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  return {
    port: readPort(settingOf('port', 'SANDBOX_PORT', '4010')),
    host: settingOf('host', 'SANDBOX_HOST', '127.0.0.1'),
    controlHosts,
    shops: shops
      ? readShopsFile(shops)
      : demoShops(
          readAddress(
            settingOf('shop-url', 'SANDBOX_SHOP_URL', 'http://127.0.0.1:3000'),
            "Your application's address (--shop-url, SANDBOX_SHOP_URL)",
          ),
        ),
    processingTime: readDuration(settingOf('processing-time', 'SANDBOX_PROCESSING_TIME', '500ms')),
    log: readLog(settingOf('log', 'SANDBOX_LOG', 'all')),
    diagnose: readDiagnose(settingOf('diagnose', 'SANDBOX_DIAGNOSE', 'no')),
    ...(dataDir && { dataDir: readFolder(dataDir) }),
    ...(payUrl && { payUrl: readPayUrl(payUrl) }),
  };
}

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
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new UsageError(`${what} must be an http or https address, not "${text}"`);
}

function readPayUrl(text: string): string {
  const what = "The address of the payer's pages (--pay-url, SANDBOX_PAY_URL)";
  const { pathname } = new URL(readAddress(text, what));
  // The pages link to each other from the root.
  if (pathname !== '/') throw new UsageError(`${what} must have no path, not "${pathname}"`);
  return text;
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
