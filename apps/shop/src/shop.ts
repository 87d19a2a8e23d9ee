import { ValidationPipe, type INestApplication } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { PageExceptionFilter } from './pages/page-exception.filter.js';

/** The HTTP server that the shop runs on: `express` or `fastify`. It behaves alike on both. */
export async function shopAdapter(name: string): Promise<AbstractHttpAdapter> {
  switch (name) {
    case 'express':
      return new ExpressAdapter();
    case 'fastify': {
      const { FastifyAdapter } = await import('@nestjs/platform-fastify');
      return new FastifyAdapter();
    }
    default:
      throw new Error(`SHOP_ADAPTER must be express or fastify, not "${name}".`);
  }
}

/** What holds for every request, wherever the shop is started. */
export function configureShop(app: INestApplication): void {
  const adapter = app.getHttpAdapter();
  if (adapter instanceof ExpressAdapter) adapter.disable('x-powered-by');
  app.useGlobalPipes(new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true }));
  app.useGlobalFilters(new PageExceptionFilter(adapter));
}
