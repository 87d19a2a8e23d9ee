import { ConsoleLogger, Logger } from '@nestjs/common';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { firstCharacters } from '../common/ids.js';
import { VERSION } from '../common/version.js';
import { demoShops } from '../console/first-shops.js';
import type { Shop } from '../model/entities.js';
import type { LogLine } from '../model/options.js';
import { type RunningSandbox, startPaymentSandbox } from '../start-payment-sandbox.js';
import { help, type ProgramOptions, readArguments, UsageError } from './arguments.js';

const LOOPBACK_PATTERN = /^(localhost|127\.[\d.]+|::1)$/;
const DEMO_TOKENS = Object.values(demoShops('http://localhost')).map(({ apiToken }) => apiToken);

const MAX_PORT_TRIES = 20;
const PORT_PAUSE_MS = 100;

/** How another program runs this one. */
export interface ProgramSettings {
  /** The program's arguments, as on a command line. */
  args: string[];
  /** The environment, for options that the arguments leave out. */
  env: NodeJS.ProcessEnv;
  /** The command that started the program, for `--help`. Default `nestjs-payment-sandbox`. */
  command?: string;
  /** Prints nothing at start-up. Default false. */
  quiet?: boolean;
}

/** Runs the sandbox until SIGINT or SIGTERM, then exits. If the options are wrong, exits with status 2. */
export function runSandbox(settings: ProgramSettings): void {
  // A closed pipe, such as one to `head`, does not stop the sandbox.
  process.stdout.on('error', () => undefined);
  run(settings).catch(fail);
}

async function run({ args, env, command = 'nestjs-payment-sandbox', quiet = false }: ProgramSettings): Promise<void> {
  if (args.includes('--version')) {
    process.stdout.write(`${VERSION}\n`);
    return;
  }
  const options = readArguments(args, env);
  if (!options) {
    process.stdout.write(help(command, env['SANDBOX_DATA'] || 'in memory'));
    return;
  }
  const { port = 0, host = '127.0.0.1' } = options;
  await waitUntilFree(port, host); // before touching the state
  // A failed start is reported below in one line; Nest would report it again with its stack.
  const running = await startPaymentSandbox({ ...options, logger: false, log: printer(options) });
  Logger.overrideLogger(new ConsoleLogger({ logLevels: ['warn', 'error', 'fatal'] }));
  stopAtSignals(running);
  if (!quiet) process.stdout.write(announcement(running.url, running.sandbox.shops(), options));
}

/** A program that was just stopped takes a moment to release its port. */
async function waitUntilFree(port: number, host: string): Promise<void> {
  for (let tries = MAX_PORT_TRIES; ; tries -= 1) {
    const error = await tryPort(port, host);
    if (!error) return;
    if (error.code === 'EADDRINUSE') {
      if (tries > 0) await sleep(PORT_PAUSE_MS);
      else throw new Error(`Port ${port} is in use: choose another with --port or SANDBOX_PORT`);
    } else if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') {
      throw new Error(`${host} is not an address of this machine: choose another with --host or SANDBOX_HOST`);
    } else throw new Error(`Port ${port} of ${host} cannot be used: ${error.message}`, { cause: error });
  }
}

function tryPort(port: number, host: string): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', resolve);
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}

function announcement(url: string, shops: readonly Shop[], options: ProgramOptions): string {
  return [
    `Sandbox: ${url}`,
    `Console: ${url}/sandbox`,
    `State:   ${options.dataDir === undefined ? 'in memory' : `in ${options.dataDir}`}`,
    'Shops:',
    ...shops.map(shopLine),
    ...openings(options),
    'Ready. Press Ctrl-C to stop.',
    '',
  ].join('\n');
}

/** The demo shops' tokens are public; others are cut to their first characters. */
function shopLine({ id, apiToken, resultUrl }: Shop): string {
  const token = DEMO_TOKENS.includes(apiToken) ? apiToken : firstCharacters(apiToken);
  return `  ${id}  token ${token}  postbacks to ${resultUrl ?? 'nowhere (resultUrl is not set)'}`;
}

function openings({ host = '127.0.0.1', port, controlHosts = [] }: ProgramOptions): string[] {
  if (LOOPBACK_PATTERN.test(host)) return [];
  const console =
    controlHosts.length === 0
      ? 'The console and /sandbox accept requests only from this machine; to let others in, set --control-hosts.'
      : `The console and /sandbox are open to anyone who uses the names ${controlHosts.join(', ')}: such clients can read every token and change everything.`;
  return [`Open:    anyone who reaches port ${port} of this machine can use the API and the payer's pages. ${console}`];
}

function printer({ log }: ProgramOptions): (line: LogLine) => void {
  return (line) => {
    if (log === 'all' || (log === 'problems' && line.problem)) process.stdout.write(formatLine(line));
  };
}

/** Shows the local time: `18:20:31 POST bill/create demo-main order-1: 200`. */
function formatLine({ at, text, problem }: LogLine): string {
  const time = new Date(at);
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => String(part).padStart(2, '0'));
  return `${clock.join(':')} ${problem ? '! ' : '  '}${text}\n`;
}

function stopAtSignals({ close }: RunningSandbox): void {
  let stopping = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stopping) return;
      stopping = true;
      void close().then(() => process.exit(0), fail);
    });
  }
}

function fail(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(error instanceof UsageError ? 2 : 1);
}
