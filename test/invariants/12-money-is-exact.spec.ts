import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnPaymentSucceeded, type PaymentSucceededEvent } from 'nestjs-payment-acceptance';
import pg from 'pg';
import { startHarness, type Harness } from '../support/harness.js';

const events: PaymentSucceededEvent[] = [];

@Injectable()
class Books {
  @OnPaymentSucceeded({ consumer: 'books' })
  take(event: PaymentSucceededEvent): Promise<void> {
    events.push(event);
    return Promise.resolve();
  }
}

let harness: Harness;

describe('invariant 12: money is an exact decimal string with its currency, never a number', () => {
  beforeAll(async () => {
    // What many hosts do, and what must not reach our amounts.
    pg.types.setTypeParser(pg.types.builtins.NUMERIC, parseFloat);
    harness = await startHarness({ providers: [Books] });
  });
  afterAll(async () => {
    await harness.close();
    pg.types.setTypeParser(pg.types.builtins.NUMERIC, (text: string) => text);
  });

  test.each(['99999999.99', '12345678.90', '0.01', '100.00', '70368744.17'])(
    'the amount %s stays exact from bill to event',
    async (amount) => {
      const bill = await harness.host.payments.createBill({ orderId: `exact ${amount}`, amount });
      await harness.sandbox.pay(bill.billId);
      await harness.settle();
      expect(bill.amount).toBe(amount);
      expect((await harness.host.payments.listPayments(bill.billId))[0]).toMatchObject({ amount, currency: 'RUB' });
      expect(events.at(-1)).toMatchObject({ amount, billedAmount: amount, amountReceived: amount, currency: 'RUB' });
      expect((await harness.host.ledger()).payments[0]).toMatchObject({ amount });
    },
  );

  test('an amount given as a number is refused', async () => {
    const request = { orderId: 'number', amount: 100.05 as unknown as string };
    await expect(harness.host.payments.createBill(request)).rejects.toMatchObject({ code: 'invalid-bill-request' });
  });
});
