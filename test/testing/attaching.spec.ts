import { beforeEach, describe, expect, test } from '@jest/globals';
import { Body, Controller, ForbiddenException, Module, Post, UseGuards, type CanActivate } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { PaymentCallbacks } from 'nestjs-payment-acceptance/callbacks';
import type { PaymentTesting } from 'nestjs-payment-acceptance/testing';
import { AppModule, Checkout, LIVE } from './host.js';
import { hostsOfTests } from './support/hosts.js';

describe('testing', () => {
  const hosts = hostsOfTests();
  let payments: PaymentTesting;
  beforeEach(async () => {
    payments = await hosts.startPayments();
  });

  /** Refuses what it does not know, like a host's login guard. */
  class LoginGuard implements CanActivate {
    canActivate(): boolean {
      throw new ForbiddenException('sign in first');
    }
  }

  describe('attach()', () => {
    test('attach() takes a Fastify application that listens already, behind a prefix and its own paths', async () => {
      const module = AppModule.with(hosts.url, { routes: { path: 'shop', postback: { path: 'hooks' } } });
      const app = await hosts.create({ module, prefix: '/api', adapter: new FastifyAdapter() });
      await app.listen(0, '127.0.0.1');
      await payments.attach(app);
      const begun = await fetch(`${await app.getUrl()}/api/checkout`, { method: 'POST' });
      const { orderId } = (await begun.json()) as { orderId: string };
      const { page } = await payments.pay(orderId);
      expect(new URL(page!.url).pathname).toMatch(/^\/api\/shop\/redirect\/payment\/result\//);
      await payments.settled();
      expect(await app.get(Checkout, { strict: false }).status(orderId)).toBe('paid');
    });

    test.each([
      ['callbacks', 'workers'],
      ['workers', 'callbacks'],
    ] as const)('attach() takes the two halves of an application, %s and then %s', async (...roles) => {
      const apps = [];
      for (const role of roles) {
        const app = await hosts.create({ module: AppModule.with(hosts.url, { role }) });
        await payments.attach(app);
        apps.push(app);
      }
      const { orderId } = await apps[0]!.get(Checkout, { strict: false }).begin();
      await payments.pay(orderId);
      await payments.settled();
      expect(await apps[1]!.get(Checkout, { strict: false }).status(orderId)).toBe('paid');
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

    test("attach() sends callbacks to the host's own controllers", async () => {
      const module = AppModule.with(hosts.url, { routes: { redirect: false, postback: false } });
      const app = await hosts.create({ module, imports: [{ module: OwnModule }] });
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

    test("attach() uses shops from the host's own database", async () => {
      const shops = ['main', 'eu'];
      const options = () => ({
        shopResolver: {
          find: (name: string) => Promise.resolve(shops.includes(name) ? LIVE.shops![name] : undefined),
          list: () => Promise.resolve(shops),
        },
      });
      const checkout = await hosts.start({ module: AppModule.with(hosts.url, { options }) });
      const orders = [await checkout.begin('main'), await checkout.begin('eu')];
      for (const { orderId } of orders) await payments.pay(orderId);
      await payments.settled();
      for (const { orderId } of orders) expect(await checkout.status(orderId)).toBe('paid');
    });

    test("attach() accepts other options where the application's cannot be made in a test", async () => {
      const options = () => {
        throw new Error('PAYMENT_ACCEPTANCE_API_TOKEN is not set');
      };
      const builder = Test.createTestingModule({ imports: [AppModule.with(hosts.url, { options })] });
      const app = (await payments.override(builder, LIVE).compile()).createNestApplication();
      hosts.apps.push(app);
      await payments.attach(app);
      const checkout = app.get(Checkout, { strict: false });
      const { orderId } = await checkout.begin();
      await payments.pay(orderId);
      await payments.settled();
      expect(await checkout.status(orderId)).toBe('paid');
    });
  });

  describe('mistakes that are explained', () => {
    test("attach() explains that the application's builder was not overridden", async () => {
      const app = (
        await Test.createTestingModule({ imports: [AppModule.with(hosts.url)] }).compile()
      ).createNestApplication();
      hosts.apps.push(app);
      await expect(payments.attach(app)).rejects.toThrow('payments.override(Test.createTestingModule(');
    });

    test('pay() explains that there is no application, or no bill of the order', async () => {
      await expect(payments.pay('A-1')).rejects.toThrow('call await payments.attach(app) first');
      await expect(payments.settled()).rejects.toThrow('call await payments.attach(app) first');
      const checkout = await hosts.start();
      const { orderId } = await checkout.begin();
      await expect(payments.pay('A-1')).rejects.toThrow(
        `Order "A-1" has no bill: call createBill for it first. Orders with one: "${orderId}".`,
      );
    });

    test('pay() names the address of a callback that a guard refuses', async () => {
      const guarded = (routes: object) => AppModule.with(hosts.url, { routes });
      const checkout = await hosts.start({ module: guarded({ classDecorators: [UseGuards(LoginGuard)] }) });
      const { orderId } = await checkout.begin();
      await expect(payments.pay(orderId)).rejects.toThrow(
        /answered 403 to the postback at .*\/postback\/payment\/main/,
      );
      const other = await hosts.start({ module: guarded({ redirect: { classDecorators: [UseGuards(LoginGuard)] } }) });
      const next = await other.begin();
      await expect(payments.pay(next.orderId)).rejects.toThrow(
        /answered 403 to the payer at .*\/redirect\/payment\/success/,
      );
    });

    test('a result page outside the application is returned without a request', async () => {
      const options = () => ({ ...LIVE, resultPage: () => ({ redirectTo: 'https://shop.example/thanks' }) });
      const checkout = await hosts.start({ module: AppModule.with(hosts.url, { options }) });
      const { orderId } = await checkout.begin();
      const { page } = await payments.pay(orderId);
      expect(page).toEqual({ url: 'https://shop.example/thanks', status: 0, html: '' });
    });
  });
});
