import 'reflect-metadata';
import { ConsoleLogger, Logger } from '@nestjs/common';
import { resolve } from 'node:path';
import { demoShops, startPaymentSandbox } from 'nestjs-payment-sandbox';
import { readPort, requireFreePort } from './port.js';

/** Runs the sandbox as a server of its own, with its state in a folder. */
async function main(): Promise<void> {
  const port = readPort('SANDBOX_PORT', 4010);
  const shops = demoShops(`http://127.0.0.1:${readPort('SHOP_PORT', 3000)}`);
  const dataDir = resolve(process.env['SANDBOX_DATA'] || '.data/sandbox');
  await requireFreePort('SANDBOX_PORT', port);
  // What keeps it from starting is told below, in one line; Nest would tell it again with its stack.
  const { url, close } = await startPaymentSandbox({ port, dataDir, shops, processingTime: '500ms', logger: false });
  Logger.overrideLogger(new ConsoleLogger({ logLevels: ['warn', 'error', 'fatal'] }));
  if (process.env['ANNOUNCE'] !== 'no') process.stdout.write(`Sandbox: ${url}\n`);

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
  process.exit(1);
}

main().catch(fail);
