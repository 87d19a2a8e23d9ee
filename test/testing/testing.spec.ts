import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import {
  Body,
  Controller,
  ForbiddenException,
  Logger,
  Module,
  Post,
  UseGuards,
  type CanActivate,
  type DynamicModule,
  type INestApplication,
} from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { PaymentCallbacks } from 'nestjs-payment-acceptance/callbacks';
import { PaymentClock } from 'nestjs-payment-acceptance/testing';
import { PaymentTesting, PaymentTestingError, startPaymentTesting } from 'nestjs-payment-acceptance/testing';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { AppModule, Checkout, LIVE, Mailer } from './host.js';

let database: TestDatabase;

describe('testing', () => {
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  let payments: PaymentTesting;
  const apps: INestApplication[] = [];
  beforeEach(async () => {
    jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    payments = await startPaymentTesting();
  });
  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close();
    await payments.close();
    jest.restoreAllMocks();
  });

  interface HostOptions {
    module?: DynamicModule;
    imports?: DynamicModule[];
    prefix?: string;
    adapter?: FastifyAdapter;
  }

  /** Creates the application without attaching it. */
  async function create({ module, imports = [], prefix, adapter }: HostOptions = {}): Promise<INestApplication> {
    const builder = Test.createTestingModule({ imports: [module ?? AppModule.with(database.url), ...imports] });
    const made = await payments.override(builder).compile();
    const options = { forceCloseConnections: true };
    const app = adapter ? made.createNestApplication(adapter, options) : made.createNestApplication(options);
    if (prefix !== undefined) app.setGlobalPrefix(prefix);
    apps.push(app);
    return app;
  }

  async function start(options?: HostOptions): Promise<Checkout> {
    const app = await create(options);
    await payments.attach(app);
    return app.get(Checkout, { strict: false });
  }

  describe('a host tests that', () => {
    test('its order gets paid', async () => {
      const app = await create();
      await payments.attach(app);
      const checkout = app.get(Checkout, { strict: false });
      const { orderId } = await checkout.begin();
      await payments.pay(orderId);
      await payments.settled();
      expect(await checkout.status(orderId)).toBe('paid');
    });

    test('a payment fails, and the next one succeeds', async () => {
      const checkout = await start();
      const { orderId } = await checkout.begin();
      expect((await payments.fail(orderId)).payment.status).toBe('FAIL');
      await payments.settled();
      expect(await checkout.status(orderId)).toBe('failed');
      await payments.pay(orderId);
      await payments.settled();
      expect(await checkout.status(orderId)).toBe('paid');
    });

    test('nothing is lost with a postback: the schedule finds the payment', async () => {
      const checkout = await start();
      const { orderId } = await checkout.begin();
      await payments.dropPostbacks();
      await payments.pay(orderId, { returns: false });
      await payments.settled();
      expect(await checkout.status(orderId)).toBe('pending');
      await payments.clock.advance('1m');
      await payments.settled();
      expect(await checkout.status(orderId)).toBe('paid');
      await payments.dropPostbacks(false);
      const next = await checkout.begin();
      await payments.pay(next.orderId, { returns: false });
      await payments.settled();
      expect(await checkout.status(next.orderId)).toBe('paid');
    });

    test('the payer comes back to a page of the application', async () => {
      const checkout = await start();
      const { orderId } = await checkout.begin();
      const { page } = await payments.pay(orderId);
      expect(page).toMatchObject({ status: 200, html: expect.stringContaining('being checked') });
      await payments.settled();
      expect(await (await fetch(page!.url)).text()).toContain('Payment received');
    });

    test('its other shop works too; an order id in both is asked about', async () => {
      const checkout = await start();
      const { orderId } = await checkout.begin('eu');
      expect((await payments.pay(orderId)).payment.currency).toBe('EUR');
      await payments.settled();
      expect(await checkout.status(orderId)).toBe('paid');
      const both = await checkout.begin('main', 'twice');
      await checkout.begin('eu', both.orderId);
      await expect(payments.pay('twice')).rejects.toThrow('has bills in several shops: name one of main, eu');
      expect((await payments.pay('twice', { shop: 'main' })).payment.currency).toBe('RUB');
    });

    test('a payment that takes its time settles when that has passed, for the service and for the module', async () => {
      const checkout = await start();
      const { orderId } = await checkout.begin();
      const slow = await payments.pay(orderId, { card: '4000 0000 0000 0077' });
      expect(slow).toMatchObject({ payment: { status: 'PROCESS' }, page: undefined });
      await payments.clock.advance('1m');
      await payments.settled();
      expect(await checkout.status(orderId)).toBe('paid');
      const module = apps[0]!.get(PaymentClock, { strict: false });
      await payments.clock.advance('3d');
      const clocks = [module.now().getTime(), payments.clock.now().getTime(), Date.parse(payments.sandbox.now())];
      expect(Math.max(...clocks) - Math.min(...clocks)).toBeLessThan(1_000);
      expect(clocks[0]! - Date.now()).toBeGreaterThan(3 * 86_400_000);
    });
  });

  describe('settled()', () => {
    test('tries a handler again that fails, and says which one fails for good, and why', async () => {
      const checkout = await start();
      const mailer = apps[0]!.get(Mailer, { strict: false });
      const { orderId } = await checkout.begin();
      mailer.failures = 3;
      await payments.pay(orderId);
      await payments.settled();
      expect([mailer.sent, await checkout.status(orderId)]).toEqual([1, 'paid']);

      const next = await checkout.begin();
      mailer.failures = Infinity;
      await payments.pay(next.orderId);
      const failing = payments.settled();
      await expect(failing).rejects.toThrow(PaymentTestingError);
      await expect(failing).rejects.toThrow(
        `payment.succeeded of order "${next.orderId}" (shop "main") to "mails", after 60 attempts: Error: the mail server is away.`,
      );
      expect(await checkout.status(next.orderId)).toBe('paid');
    });

    test('says nothing of dead letters that were there before', async () => {
      const failing = await start();
      apps[0]!.get(Mailer, { strict: false }).failures = Infinity;
      await payments.pay((await failing.begin()).orderId);
      await expect(payments.settled()).rejects.toThrow('Handlers have failed for good');
      await payments.close();
      payments = await startPaymentTesting();
      const checkout = await start();
      const { orderId } = await checkout.begin();
      await payments.pay(orderId);
      await payments.settled();
      expect(await checkout.status(orderId)).toBe('paid');
    });

    test('drives several instances on one database', async () => {
      const [first, second] = [await start(), await start()];
      const orders = [await first.begin(), await second.begin()];
      for (const { orderId } of orders) await payments.pay(orderId);
      await payments.settled();
      for (const { orderId } of orders) expect(await first.status(orderId)).toBe('paid');
    });
  });

  /** Refuses what it does not know, like a host's login guard. */
  class LoginGuard implements CanActivate {
    canActivate(): boolean {
      throw new ForbiddenException('sign in first');
    }
  }

  describe('attach()', () => {
    test('takes an application that listens already, behind a prefix and paths of its own, on Fastify', async () => {
      const module = AppModule.with(database.url, { routes: { path: 'shop', postback: { path: 'hooks' } } });
      const app = await create({ module, prefix: '/api', adapter: new FastifyAdapter() });
      await app.listen(0, '127.0.0.1');
      await payments.attach(app);
      const begun = await fetch(`${await app.getUrl()}/api/checkout`, { method: 'POST' });
      const { orderId } = (await begun.json()) as { orderId: string };
      const { page } = await payments.pay(orderId);
      expect(new URL(page!.url).pathname).toMatch(/^\/api\/shop\/redirect\/payment\/result\//);
      await payments.settled();
      expect(await app.get(Checkout, { strict: false }).status(orderId)).toBe('paid');
    });

    @Controller('own')
    class OwnCallbacks {
      constructor(private readonly callbacks: PaymentCallbacks) {}
      @Post('postback')
      async take(@Body() body: unknown): Promise<string> {
        return (await this.callbacks.postback('main', body)).kind;
      }
    }
    @Module({ controllers: [OwnCallbacks] })
    class OwnModule {}

    test('sends callbacks to controllers of the host’s own', async () => {
      const module = AppModule.with(database.url, { routes: { redirect: false, postback: false } });
      const app = await create({ module, imports: [{ module: OwnModule }] });
      const seen: number[] = [];
      app.use(
        (
          _request: unknown,
          response: { statusCode: number; on(event: 'finish', then: () => void): void },
          next: () => void,
        ) => {
          response.on('finish', () => seen.push(response.statusCode));
          next();
        },
      );
      await payments.attach(app, { urls: (_shop, base) => ({ resultUrl: `${base}/own/postback` }) });
      const { orderId } = await app.get(Checkout, { strict: false }).begin();
      // Nest answers a POST with 201, which the service counts as a failure.
      await expect(payments.pay(orderId)).rejects.toThrow(/answered 201 to the postback at .*\/own\/postback/);
      expect(seen).toEqual([201]);
      await payments.settled();
      expect(await app.get(Checkout, { strict: false }).status(orderId)).toBe('paid');
    });

    test('uses shops that the host finds in its own database', async () => {
      const shops = ['main', 'eu'];
      const options = () => ({
        shopResolver: {
          find: (name: string) => Promise.resolve(shops.includes(name) ? LIVE.shops![name] : undefined),
          list: () => Promise.resolve(shops),
        },
      });
      const checkout = await start({ module: AppModule.with(database.url, { options }) });
      const orders = [await checkout.begin('main'), await checkout.begin('eu')];
      for (const { orderId } of orders) await payments.pay(orderId);
      await payments.settled();
      for (const { orderId } of orders) expect(await checkout.status(orderId)).toBe('paid');
    });

    test('takes other options where the application’s cannot be made in a test', async () => {
      const options = () => {
        throw new Error('PAYMENT_ACCEPTANCE_API_TOKEN is not set');
      };
      const builder = Test.createTestingModule({ imports: [AppModule.with(database.url, { options })] });
      const app = (await payments.override(builder, LIVE).compile()).createNestApplication();
      apps.push(app);
      await payments.attach(app);
      const checkout = app.get(Checkout, { strict: false });
      const { orderId } = await checkout.begin();
      await payments.pay(orderId);
      await payments.settled();
      expect(await checkout.status(orderId)).toBe('paid');
    });
  });

  describe('what is wrong with a test or an application is said', () => {
    test('an application whose builder was not overridden', async () => {
      const app = (
        await Test.createTestingModule({ imports: [AppModule.with(database.url)] }).compile()
      ).createNestApplication();
      apps.push(app);
      await expect(payments.attach(app)).rejects.toThrow('payments.override(Test.createTestingModule(');
    });

    test('no application, and an order without a bill', async () => {
      await expect(payments.pay('A-1')).rejects.toThrow('call await payments.attach(app) first');
      await expect(payments.settled()).rejects.toThrow('call await payments.attach(app) first');
      const checkout = await start();
      const { orderId } = await checkout.begin();
      await expect(payments.pay('A-1')).rejects.toThrow(
        `Order "A-1" has no bill: call createBill for it first. Orders with one: "${orderId}".`,
      );
    });

    test('callbacks that need a login, each with its address', async () => {
      const guarded = (routes: object) => AppModule.with(database.url, { routes });
      const checkout = await start({ module: guarded({ classDecorators: [UseGuards(LoginGuard)] }) });
      const { orderId } = await checkout.begin();
      await expect(payments.pay(orderId)).rejects.toThrow(
        /answered 403 to the postback at .*\/postback\/payment\/main/,
      );
      const other = await start({ module: guarded({ redirect: { classDecorators: [UseGuards(LoginGuard)] } }) });
      const next = await other.begin();
      await expect(payments.pay(next.orderId)).rejects.toThrow(
        /answered 403 to the payer at .*\/redirect\/payment\/success/,
      );
    });

    test('a page outside the application is named and not asked for', async () => {
      const options = () => ({ ...LIVE, resultPage: () => ({ redirectTo: 'https://shop.example/thanks' }) });
      const checkout = await start({ module: AppModule.with(database.url, { options }) });
      const { orderId } = await checkout.begin();
      const { page } = await payments.pay(orderId);
      expect(page).toEqual({ url: 'https://shop.example/thanks', status: 0, html: '' });
    });
  });
});
