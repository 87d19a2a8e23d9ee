import 'reflect-metadata';
import type { LogLevel } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { portFromEnv, whyNotListening } from './port.js';
import { configureShop, shopAdapter } from './shop.js';

async function bootstrap(): Promise<void> {
  const port = portFromEnv('SHOP_PORT', 3000);
  const adapter = await shopAdapter(process.env.SHOP_ADAPTER || 'express');
  const app = await NestFactory.create(AppModule, adapter, { logger: logLevels() });
  configureShop(app);
  app.enableShutdownHooks();
  try {
    await app.listen(port, '127.0.0.1');
  } catch (error) {
    await app.close();
    throw whyNotListening(error, 'SHOP_PORT', port);
  }
  if (process.env.ANNOUNCE !== 'no') process.stdout.write(`Shop: http://127.0.0.1:${port}\n`);
}

/** `SHOP_LOG_LEVELS=error,warn,log` also logs each bill that the service has made, as a second record. */
function logLevels(): LogLevel[] {
  return (process.env.SHOP_LOG_LEVELS || 'error,warn').split(',') as LogLevel[];
}

bootstrap().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
