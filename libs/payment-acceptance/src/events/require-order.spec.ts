import { describe, expect, test } from '@jest/globals';
import { PaymentOrderNotFoundError } from './order-not-found.js';
import { requireOrder } from './require-order.js';

const EVENT = { orderId: 'order-1' };

describe('the order that a handler requires', () => {
  test.each([null, undefined, { affected: 0 }])('is missing: %j', (found) => {
    expect(() => requireOrder(EVENT, found)).toThrow(PaymentOrderNotFoundError);
    expect(() => requireOrder(EVENT, found)).toThrow('"order-1"');
  });

  test.each([{ id: 'order-1' }, { affected: 1 }, { affected: 2 }])('is there, and returned: %j', (found) => {
    expect(requireOrder(EVENT, found)).toBe(found);
  });

  test.each([undefined, null])('cannot be told from affected: %s', (affected) => {
    expect(() => requireOrder(EVENT, { affected })).toThrow(TypeError);
  });
});
