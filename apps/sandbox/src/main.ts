import 'reflect-metadata';
import { resolve } from 'node:path';
import { startPaymentSandbox } from 'nestjs-payment-sandbox';
import { demoShops } from './demo-shops.js';
import { readPort } from './environment.js';

/** Runs the sandbox as a server of its own, with its state in a folder. */
async function main(): Promise<void> {
  const port = readPort('SANDBOX_PORT', 4010);
  const dataDir = resolve(process.env['SANDBOX_DATA'] || '.data/sandbox');
  const { url, close } = await startPaymentSandbox({
    port,
    dataDir,
    shops: demoShops(readPort('SHOP_PORT', 3000)),
    processingTime: '500ms',
  });
  process.stdout.write(`Sandbox: ${url}\n`);

  let stopping = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stopping) return;
      stopping = true;
      void close().then(() => process.exit(0));
    });
  }
}

main().catch((error: NodeJS.ErrnoException) => {
  const message =
    error.code === 'EADDRINUSE'
      ? `Port ${process.env['SANDBOX_PORT'] ?? 4010} is in use: set SANDBOX_PORT to a free one`
      : error.message;
  process.stderr.write(`${message}\n`);
  process.exit(1);
});
