import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { startPaymentTesting, type PaymentTesting } from 'nestjs-payment-acceptance/testing';
import { AppModule } from './app/app.module.js';
import { OrdersService } from './app/orders.service.js';

let payments: PaymentTesting;
beforeEach(async () => {
  payments = await startPaymentTesting();
});
afterEach(() => payments.close());

test('a payment settles in five lines with nestjs-payment-acceptance/testing', async () => {
  const databaseUrl = process.env['DATABASE_URL'] ?? '';
  const application = AppModule.with({ databaseUrl, sandboxUrl: 'https://api.pay.example' });
  const app = (
    await payments.override(Test.createTestingModule({ imports: [application] })).compile()
  ).createNestApplication();
  await payments.attach(app);
  const { orderId } = await app.get(OrdersService).order('100.05');
  await payments.pay(orderId);
  await payments.settled();
  expect(await app.get(OrdersService).statusOf(orderId)).toBe('paid');
});
