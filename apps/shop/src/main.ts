import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { portFromEnv, whyNotListening } from './port.js';
import { configureShop, shopAdapter } from './shop.js';

async function bootstrap(): Promise<void> {
  const port = portFromEnv('SHOP_PORT', 3000);
  const adapter = await shopAdapter(process.env.SHOP_ADAPTER || 'express');
  const app = await NestFactory.create(AppModule, adapter, { logger: ['error', 'warn'] });
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

bootstrap().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
