import { ConsoleLogger, Logger } from '@nestjs/common';
import { VERSION } from '../common/version.js';
import type { LogLine } from '../model/log-line.js';
import { type RunningSandbox, startPaymentSandbox } from '../start-payment-sandbox.js';
import { announcement } from './announcement.js';
import { help, type ProgramOptions, readArguments } from './arguments.js';
import { waitUntilFree } from './free-port.js';
import { formatLine } from './print-line.js';
import { UsageError } from './usage-error.js';

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

function printer({ log }: ProgramOptions): (line: LogLine) => void {
  return (line) => {
    if (log === 'all' || (log === 'problems' && line.problem)) process.stdout.write(formatLine(line));
  };
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
