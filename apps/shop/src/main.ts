import 'reflect-metadata';
import { ValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from './app.module.js';
import { PageExceptionFilter } from './pages/page-exception.filter.js';
import { portFromEnv, whyNotListening } from './port.js';

async function bootstrap(): Promise<void> {
  const port = portFromEnv('SHOP_PORT', 3000);
  const app = await NestFactory.create<NestExpressApplication>(AppModule, {
    logger: ['error', 'warn'],
  });
  app.disable('x-powered-by');
  app.useGlobalPipes(new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true }));
  app.useGlobalFilters(new PageExceptionFilter());
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
