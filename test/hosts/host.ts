import {
  Catch,
  ClassSerializerInterceptor,
  ForbiddenException,
  SetMetadata,
  ValidationPipe,
  VersioningType,
  type ArgumentsHost,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type INestApplication,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import fastifyHelmet from '@fastify/helmet';
import helmet from 'helmet';
import { demoShops, startPaymentSandbox, type PaymentSandbox } from 'nestjs-payment-sandbox';
import { AppModule, type AppOptions } from './app/app.module.js';
import { OrdersService } from './app/orders.service.js';

export type Platform = 'express' | 'fastify';

/** Settings that an application may have globally. */
export interface Setting {
  prepare?: (app: INestApplication, platform: Platform) => unknown;
  app?: Partial<AppOptions>;
  /** The prefix of the callback routes. */
  prefix?: string;
  bodyParser?: boolean;
}

export const Public = () => SetMetadata('isPublic', true);

/** Denies everything that is not marked as public. */
class TokenGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}
  canActivate(context: ExecutionContext): boolean {
    const targets = [context.getHandler(), context.getClass()];
    if (this.reflector.getAllAndOverride<boolean | undefined>('isPublic', targets)) return true;
    throw new ForbiddenException('sign in');
  }
}

@Catch()
class EverythingFilter implements ExceptionFilter {
  catch(_error: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<{ status(code: number): { send(body: string): void } }>();
    response.status(418).send('teapot');
  }
}

const strictPipe = () =>
  new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true, forbidUnknownValues: true });
const useHelmet = (app: INestApplication, platform: Platform): unknown =>
  platform === 'express' ? app.use(helmet()) : (app as NestFastifyApplication).register(fastifyHelmet);
const publicRoutes: Partial<AppOptions> = { routes: { path: 'payments', decorators: [Public()] } };

export const SETTINGS: Record<string, Setting> = {
  'nothing of its own': {},
  'a global prefix': { prepare: (app) => app.setGlobalPrefix('api'), prefix: '/api' },
  'URI versioning': { prepare: (app) => app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' }) },
  'a strict ValidationPipe': { prepare: (app) => app.useGlobalPipes(strictPipe()) },
  ClassSerializerInterceptor: {
    prepare: (app) => app.useGlobalInterceptors(new ClassSerializerInterceptor(app.get(Reflector))),
  },
  'a global guard': {
    prepare: (app) => app.useGlobalGuards(new TokenGuard(app.get(Reflector))),
    app: publicRoutes,
    prefix: '/payments',
  },
  'a global exception filter': { prepare: (app) => app.useGlobalFilters(new EverythingFilter()) },
  Helmet: { prepare: useHelmet },
  CORS: { prepare: (app) => app.enableCors({ origin: 'https://shop.example', credentials: true }) },
  'several data sources': { app: { dataSource: 'orders' } },
  'all of that': {
    prepare: async (app, platform) => {
      await useHelmet(app, platform);
      app.enableCors({ origin: 'https://shop.example' });
      app
        .setGlobalPrefix('api')
        .enableVersioning({ type: VersioningType.URI, defaultVersion: '1' })
        .useGlobalPipes(strictPipe())
        .useGlobalInterceptors(new ClassSerializerInterceptor(app.get(Reflector)))
        .useGlobalFilters(new EverythingFilter())
        .useGlobalGuards(new TokenGuard(app.get(Reflector)));
    },
    app: { ...publicRoutes, dataSource: 'orders' },
    prefix: '/api/payments',
  },
};

export interface Host {
  /** Base address of the callback routes. */
  readonly url: string;
  readonly app: INestApplication;
  readonly orders: OrdersService;
  readonly sandbox: PaymentSandbox;
  close(): Promise<void>;
}

/** Starts an application on a platform, with the sandbox as its payment acceptance service. */
export async function startHost(platform: Platform, setting: Setting): Promise<Host> {
  const running = await startPaymentSandbox({ shops: demoShops('http://127.0.0.1:9'), logger: false });
  const databaseUrl = process.env['DATABASE_URL'] ?? '';
  const module = await Test.createTestingModule({
    imports: [AppModule.with({ databaseUrl, sandboxUrl: running.url, ...setting.app })],
  }).compile();
  const { bodyParser = true } = setting;
  const app =
    platform === 'express'
      ? module.createNestApplication(new ExpressAdapter(), { logger: false, bodyParser })
      : module.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), { logger: false, bodyParser });
  await setting.prepare?.(app, platform);
  await app.listen(0, '127.0.0.1');
  const url = `${await app.getUrl()}${setting.prefix ?? ''}`;
  for (const [id, shop] of Object.entries(demoShops(url))) await running.sandbox.putShop(id, shop);
  return {
    url,
    app,
    orders: app.get(OrdersService),
    sandbox: running.sandbox,
    async close() {
      await app.close();
      await running.close();
    },
  };
}
