import 'reflect-metadata';
import type { LogLevel } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { portFromEnv, whyNotListening } from './port.js';
import { configureShop, shopAdapter } from './shop.js';

/** How long a shutdown may take: longer than the payment module's, whose `shutdownTimeoutMs` is five seconds here. */
const SHUTDOWN_MS = 12_000;

async function bootstrap(): Promise<void> {
  const port = portFromEnv('SHOP_PORT', 3000);
  const adapter = await shopAdapter(process.env.SHOP_ADAPTER || 'express');
  const app = await NestFactory.create(AppModule, adapter, { logger: logLevels() });
  configureShop(app);
  app.enableShutdownHooks();
  // The pool of mysql2 waits for ever for a statement of the shop's own that a silent server does not answer.
  process.once('SIGTERM', () => setTimeout(() => process.exit(1), SHUTDOWN_MS).unref());
  try {
    await app.listen(port, '127.0.0.1');
  } catch (error) {
    await app.close();
    throw whyNotListening(error, 'SHOP_PORT', port);
  }
  if (process.env.ANNOUNCE !== 'no') process.stdout.write(`Shop: http://127.0.0.1:${port}\n`);
}

/** `SHOP_LOG_LEVELS=error,warn,log` also logs each created bill: its second record, besides the database's. */
function logLevels(): LogLevel[] {
  return (process.env.SHOP_LOG_LEVELS || 'error,warn').split(',') as LogLevel[];
}

bootstrap().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
