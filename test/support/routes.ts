import type { INestApplication } from '@nestjs/common';
import type { FastifyAdapter } from '@nestjs/platform-fastify';

/** Collects all routes that the application registers. Call it before the application starts. */
export function watchRoutes(app: INestApplication): () => string[] {
  const routes = new Set<string>();
  const adapter = app.getHttpAdapter();
  if (adapter.getType() === 'fastify') {
    (adapter as unknown as FastifyAdapter).getInstance().addHook('onRoute', ({ method, url }) => {
      for (const each of [method].flat()) if (each !== 'HEAD') routes.add(`${each} ${url}`); // HEAD comes with each GET
    });
    return () => [...routes].sort();
  }
  interface Layer {
    route?: { path: string; stack: { method: string }[] };
  }
  return () => {
    const { router } = adapter.getInstance() as { router: { stack: Layer[] } };
    for (const { route } of router.stack) {
      for (const { method } of route?.stack ?? []) routes.add(`${method.toUpperCase()} ${route?.path ?? ''}`);
    }
    return [...routes].sort();
  };
}
