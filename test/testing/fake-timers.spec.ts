import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { PaymentTestingError, type PaymentTesting } from 'nestjs-payment-acceptance/testing';
import { Checkout } from './host.js';
import { hostsOfTests } from './support/hosts.js';

const OF_DATE_ALONE = [
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
] as const;

describe('fake timers', () => {
  const hosts = hostsOfTests();
  let payments: PaymentTesting;
  let checkout: Checkout;
  beforeEach(async () => {
    payments = await hosts.startPayments();
    checkout = await hosts.start();
  });
  afterEach(() => void jest.useRealTimers());

  test('with all timers faked, an error says what to fake instead', async () => {
    const { orderId } = await checkout.begin();
    jest.useFakeTimers();
    const paying = payments.pay(orderId);
    await expect(paying).rejects.toThrow(PaymentTestingError);
    await expect(paying).rejects.toThrow("This process's timers are faked");
    jest.useRealTimers();
    await payments.pay(orderId);
    await payments.settled();
    expect(await checkout.status(orderId)).toBe('paid');
    jest.useFakeTimers();
    await expect(payments.close()).rejects.toThrow("This process's timers are faked");
    jest.useRealTimers();
  });

  test('fake timers that advance by themselves work', async () => {
    const { orderId } = await checkout.begin();
    jest.useFakeTimers({ advanceTimers: true });
    await payments.pay(orderId);
    await payments.settled();
    jest.useRealTimers();
    expect(await checkout.status(orderId)).toBe('paid');
  });

  test.each(['2020-02-29T00:00:00Z', '2030-01-31T12:00:00Z'])('faking only Date works, at %s', async (now) => {
    const { orderId } = await checkout.begin();
    jest.useFakeTimers({ now: new Date(now), doNotFake: [...OF_DATE_ALONE] });
    await payments.pay(orderId);
    await payments.settled();
    jest.useRealTimers();
    expect(await checkout.status(orderId)).toBe('paid');
  });
});
