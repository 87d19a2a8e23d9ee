import { describe, expect, test } from '@jest/globals';
import { lockedBill, reported } from '../../../../test/support/units.js';
import { run } from '../../../../test/support/decisions.js';
import { deliveryId } from './event-id.js';

describe('the id of an event', () => {
  const idsOf = (bill: Parameters<typeof lockedBill>[0], amount = '100.05'): string[] =>
    run({ bill: lockedBill(bill), listed: [reported({ paymentId: 'p-1', amount })] }).events.map(({ id }) => id);

  test('an event id follows from the shop and the ids of the service, not from our own ids', () => {
    const elsewhere = { intentId: '00000000-0000-4000-8000-000000000002', orderId: 'B-2', attempt: 3 };
    expect(idsOf(elsewhere)).toEqual(idsOf({}));
    expect(idsOf(elsewhere, '99.00')).toEqual(idsOf({}, '99.00'));
  });

  test.each([[{ shop: 'another' }], [{ shopId: 'another' }], [{ billId: 'another' }]])(
    'an event id differs for %j',
    (more) => {
      for (const amount of ['100.05', '99.00', '120.00']) {
        const both = [...idsOf({}, amount), ...idsOf(more, amount)];
        expect(new Set(both).size).toBe(both.length);
      }
    },
  );

  test('a delivery id differs by event and consumer', () => {
    const ids = [deliveryId('e-1', 'orders'), deliveryId('e-1', 'mails'), deliveryId('e-2', 'orders')];
    expect(new Set(ids).size).toBe(3);
    expect(ids[0]).toBe(deliveryId('e-1', 'orders'));
  });
});
