// An application that loads the module with `require`, and another copy of the package with `import`, as may happen with
// two packages of one application. Tokens, brands and metadata must work across both.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { demoShops, startPaymentSandbox } from 'nestjs-payment-sandbox';

const require = createRequire(import.meta.url);
const entries = ['', '/callbacks', '/inbox', '/operations', '/testing'].map(
  (entry) => `nestjs-payment-acceptance${entry}`,
);
for (const entry of [...entries, 'nestjs-payment-console', 'nestjs-payment-sandbox']) {
  const [given, imported] = [require(entry), await import(entry)];
  for (const name of Object.keys(imported)) assert.equal(imported[name], given[name], `${name} is there twice`);
  assert.equal(Object.keys(given).length, Object.keys(imported).length);
}
const required = require('nestjs-payment-acceptance');
const { PaymentOperations } = require('nestjs-payment-acceptance/operations');
const { PaymentClock } = require('nestjs-payment-acceptance/testing');

fs.cpSync('node_modules/nestjs-payment-acceptance', 'node_modules/second-copy', { recursive: true });
const copy = await import('./../node_modules/second-copy/dist/esm/index.js');
assert.notEqual(copy.PaymentAcceptanceService, required.PaymentAcceptanceService);

const calls = [];
class Orders {
  take(event, { attempt }) {
    calls.push([event.orderId, attempt]);
    throw new copy.PaymentNonRetryableError('no further attempt can help');
  }
}
const take = Object.getOwnPropertyDescriptor(Orders.prototype, 'take');
copy.OnPaymentSucceeded({ consumer: 'both-formats' })(Orders.prototype, 'take', take);

const sandbox = await startPaymentSandbox({ shops: demoShops('http://127.0.0.1:9') });
const shop = (shopId, apiToken) => ({ shopId, apiToken, apiBaseUrl: sandbox.url });
function AppModule() {} // to Nest, a class as in TypeScript
Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL }),
    required.PaymentAcceptanceModule.forRoot({
      shops: {
        main: shop('demo-main', 'sandbox-main-token-0123456789abcdef'),
        eu: { ...shop('demo-eu', 'sandbox-eu-token-0123456789abcdef'), currency: 'EUR' },
      },
      autoStart: false,
    }),
    required.PaymentAcceptanceModule.forFeature('eu'),
  ],
  providers: [Orders],
})(AppModule);
const app = await NestFactory.create(AppModule, { logger: false });
await app.listen(0, '127.0.0.1');
for (const [id, settings] of Object.entries(demoShops(await app.getUrl()))) await sandbox.sandbox.putShop(id, settings);

const byToken = (name) => app.get(Symbol.for(`nestjs-payment-acceptance/${name}`), { strict: false });
for (const service of [PaymentOperations, required.PaymentWorkers, PaymentClock]) {
  assert.equal(byToken(service.name), app.get(service, { strict: false }));
}
const eu = app.get(copy.getPaymentShopToken('eu'), { strict: false });
assert.equal(eu.name, 'eu');

const orderId = `both-${Date.now()}`;
const { billId } = await eu.createBill({ orderId, amount: '5.00' });
await sandbox.sandbox.pay(billId);
await sandbox.sandbox.settled();
for (let work = 1; work > 0;) {
  const { checks, deliveries } = byToken('PaymentWorkers');
  work = (await checks.runOnce()) + (await deliveries.runOnce());
}
assert.deepEqual(calls, [[orderId, 1]]);
const [dead] = await byToken('PaymentOperations').deadLetters({ consumer: 'both-formats', orderId });
assert.equal(dead?.attempts, 1);

await app.close();
await sandbox.close();
fs.rmSync('node_modules/second-copy', { recursive: true });
