import { CacheInterceptor, CacheModule } from '@nestjs/cache-manager';
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  Catch,
  ForbiddenException,
  Injectable,
  SetMetadata,
  ValidationPipe,
  VersioningType,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_INTERCEPTOR, Reflector } from '@nestjs/core';
import { setImmediate } from 'node:timers/promises';
import { map, type Observable } from 'rxjs';
import { ADAPTERS } from '../support/adapters.js';
import { setCallbacks, startHarness, type Harness, type HarnessOptions } from '../support/harness.js';
import { postbackFields, postForm, postJson, redirectFields } from '../support/http.js';
import { EffectWriter } from '../support/orders.js';

const Public = () => SetMetadata('isPublic', true);

/** A typical global guard, which reads only the handler's metadata. */
class TokenGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}
  canActivate(context: ExecutionContext): boolean {
    if (this.reflector.get<boolean | undefined>('isPublic', context.getHandler())) return true;
    throw new ForbiddenException('sign in');
  }
}

@Injectable()
class WrappingInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data: unknown) => ({ statusCode: 200, data })));
  }
}

@Catch()
class TeapotFilter implements ExceptionFilter {
  catch(_error: unknown, host: Parameters<ExceptionFilter['catch']>[1]): void {
    const response = host.switchToHttp().getResponse<{ status(code: number): { send(body: string): void } }>();
    response.status(418).send('teapot');
  }
}

const strictPipe = new ValidationPipe({
  whitelist: true,
  forbidNonWhitelisted: true,
  transform: true,
  forbidUnknownValues: true,
});

type Host = [string, (app: INestApplication) => void, string, HarnessOptions['extras']];
const publicRoutes: HarnessOptions['extras'] = { routes: { path: '/payments/', decorators: [Public()] } };

/** Global settings of a host, each with the prefix that the routes then have. */
const HOSTS: Host[] = [
  ['a strict ValidationPipe', (app) => app.useGlobalPipes(strictPipe), '', {}],
  ['a global prefix', (app) => app.setGlobalPrefix('api'), '/api', {}],
  ['routes.path', () => undefined, '/shop/payments', { routes: { path: 'shop/payments' } }],
  ['URI versioning', (app) => app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' }), '', {}],
  [
    'header versioning',
    (app) => app.enableVersioning({ type: VersioningType.HEADER, header: 'v', defaultVersion: '2' }),
    '',
    {},
  ],
  ['a response-wrapping interceptor', (app) => app.useGlobalInterceptors(new WrappingInterceptor()), '', {}],
  ['an exception filter', (app) => app.useGlobalFilters(new TeapotFilter()), '', {}],
  [
    'a global guard, the routes public',
    (app) => app.useGlobalGuards(new TokenGuard(app.get(Reflector))),
    '/payments',
    publicRoutes,
  ],
];
const ALL: Host = [
  'all of that at once',
  (app) => {
    app
      .setGlobalPrefix('api')
      .enableVersioning({ type: VersioningType.URI, defaultVersion: '1' })
      .useGlobalPipes(strictPipe)
      .useGlobalInterceptors(new WrappingInterceptor())
      .useGlobalFilters(new TeapotFilter())
      .useGlobalGuards(new TokenGuard(app.get(Reflector)));
  },
  '/api/payments',
  publicRoutes,
];

let harness: Harness | undefined;

describe.each(ADAPTERS)('hosts on %s', (adapter) => {
  afterEach(() => harness?.close());

  test.each(adapter === 'express' ? [...HOSTS, ALL] : [ALL])(
    'a host with %s takes postbacks and redirects as any other',
    async (_name, prepare, prefix, extras) => {
      harness = await startHarness({ adapter, prepare, extras, providers: [EffectWriter] });
      await setCallbacks(harness.sandbox, harness.host.url, prefix.slice(1));
      const base = harness.host.url + prefix;
      const { orderId, billId } = await harness.host.payments.createBill({ orderId: 'H-1', amount: '100.05' });
      const { redirect } = await harness.sandbox.pay(billId);
      await harness.settle();
      expect(await harness.effects()).toMatchObject([{ event: 'payment.succeeded', orderId }]);
      expect((await harness.host.ledger()).callbacks).toMatchObject([{ kind: 'postback', digest: 'match', billId }]);

      // Unless the host says otherwise, Fastify distinguishes addresses with and without a trailing slash.
      for (const suffix of ['', '/main', ...(adapter === 'express' ? ['/'] : [])]) {
        const fields = { ...postbackFields({ InvId: orderId, OutSum: '100.05', TrsId: billId }), Unknown: 'field' };
        const stored = await postJson(`${base}/postback/payment${suffix}`, fields);
        expect([stored.status, await stored.text()]).toEqual([200, 'OK']);
        const returned = await postForm(`${base}/redirect/payment/success${suffix}`, redirect!.fields);
        expect(returned.status).toBe(303);
        const address = new URL(returned.headers.get('location')!, returned.url);
        expect(address.href.startsWith(`${base}/redirect/payment/result/`)).toBe(true);
        const page = await fetch(address);
        expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
        expect(await page.text()).toContain('H-1');
      }
      const malformed = await postJson(`${base}/postback/payment`, { InvId: 'H-1' });
      expect([malformed.status, await malformed.json()]).toEqual([400, expect.objectContaining({ success: false })]);
      const forged = await postForm(`${base}/redirect/payment/fail`, {
        ...redirectFields({ InvId: 'H-1', OutSum: '1.00' }),
        OutSum: '2.00',
      });
      expect(forged.status).toBe(403);
    },
  );

  test('a cache of the host beside a response-wrapping interceptor leaves a result page alone', async () => {
    harness = await startHarness({
      adapter,
      imports: [CacheModule.register()],
      providers: [CacheInterceptor, WrappingInterceptor].map((useClass) => ({ provide: APP_INTERCEPTOR, useClass })),
    });
    const { billId } = await harness.host.payments.createBill({ orderId: 'H-2', amount: '100.05' });
    const { redirect } = await harness.sandbox.pay(billId);
    const returned = await postForm(redirect!.url, redirect!.fields);
    const address = new URL(returned.headers.get('location')!, returned.url);
    for (let view = 0; view < 3; view += 1) {
      const page = await fetch(address, { signal: AbortSignal.timeout(10_000) });
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('H-2')]);
      // What the cache has stored lasts a millisecond.
      for (const seenAt = Date.now(); Date.now() < seenAt + 3;) await setImmediate();
    }
  });

  test('a global guard blocks callbacks to routes that are not marked public', async () => {
    harness = await startHarness({
      adapter,
      prepare: (app) => app.useGlobalGuards(new TokenGuard(app.get(Reflector))),
    });
    for (const path of ['postback/payment', 'redirect/payment/success', 'redirect/payment/fail']) {
      expect((await postJson(`${harness.host.url}/${path}`, {})).status).toBe(403);
    }
    expect((await fetch(`${harness.host.url}/redirect/payment/result/x`)).status).toBe(403);
  });
});
