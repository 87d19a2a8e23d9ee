#!/usr/bin/env node
import { ConsoleLogger, Logger } from '@nestjs/common';
import { startPaymentSandbox } from '../start-payment-sandbox.js';
import { HELP, readArguments, UsageError } from './arguments.js';

/** The sandbox as a program: runs until it is asked to stop. */
async function main(): Promise<void> {
  const options = readArguments(process.argv.slice(2), process.env);
  if (!options) {
    process.stdout.write(HELP);
    return;
  }
  // What keeps it from starting is told below, in one line; Nest would tell it again with its stack.
  const { url, close } = await startPaymentSandbox({ ...options, logger: false });
  Logger.overrideLogger(new ConsoleLogger({ logLevels: ['warn', 'error', 'fatal'] }));
  const state = options.dataDir ? `in ${options.dataDir}` : 'in memory';
  const shops = Object.keys(options.shops ?? {}).join(', ');
  process.stdout.write(
    `Sandbox: ${url}\nConsole: ${url}/sandbox\nState: ${state}\nShops: ${shops}\nReady. Ctrl-C stops it.\n`,
  );

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
  const { code, port, message } = error as NodeJS.ErrnoException & { port?: number };
  const inUse = code === 'EADDRINUSE' && `Port ${port} is in use: choose another with --port or SANDBOX_PORT`;
  process.stderr.write(`${inUse || message}\n`);
  process.exit(error instanceof UsageError ? 2 : 1);
}

main().catch(fail);
