import type { INestApplication } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Server, ServerResponse } from 'node:http';
import { BodyValidationPipe } from './body-validation.pipe.js';
import { PageExceptionFilter } from './pages/page-exception.filter.js';

/** The shop's HTTP adapter: `express` or `fastify`. The shop behaves the same on both. */
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

/** The set-up that applies to every request, however the shop is started. */
export function configureShop(app: INestApplication): void {
  const adapter = app.getHttpAdapter();
  if (adapter instanceof ExpressAdapter) adapter.disable('x-powered-by');
  app.use(setPolicy);
  app.use(closeWhileEnding(app));
  app.useGlobalPipes(new BodyValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true }));
  app.useGlobalFilters(new PageExceptionFilter(adapter));
}

/** A busy keep-alive connection, such as a load balancer's, would keep the server from shutting down. */
function closeWhileEnding(app: INestApplication) {
  return (_request: unknown, response: ServerResponse, next: () => void): void => {
    if (!(app.getHttpServer() as Server).listening) response.setHeader('Connection', 'close');
    next();
  };
}

/**
 * Pages may load only the shop's own resources and run no inline script. A form may lead anywhere: buying redirects to
 * the service's payment page, and browsers apply `form-action` to that redirect too.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "form-action 'self' http: https:",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** For every response; the module's own pages replace it with their own policy. */
function setPolicy(_request: unknown, response: ServerResponse, next: () => void): void {
  response.setHeader('Content-Security-Policy', CONTENT_SECURITY_POLICY);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('X-Frame-Options', 'DENY');
  response.setHeader('Referrer-Policy', 'same-origin');
  next();
}
