import { expect, jest, test } from '@jest/globals';
import { PaymentLogger } from '../common/payment-logger.js';
import { PaymentRandom } from '../common/random.js';
import { resolveOptions } from '../config/resolve-options.js';
import { FailedAttempts } from './failed-attempts.js';
import type { EventConsumer } from './consumer.js';
import type { ClaimedDelivery, DeliveryStore } from './storage/delivery.store.js';

const delivery = { consumer: 'orders', deliveryId: '1', eventName: 'payment.succeeded', attempt: 1 } as ClaimedDelivery;
const consumer = { kind: 'transaction', name: 'orders' } as unknown as EventConsumer;

function setUp(fail: DeliveryStore['fail']) {
  const logger = new PaymentLogger('PaymentDeliveries');
  const written = jest.spyOn(logger, 'write').mockReturnValue(undefined);
  const shops = { main: { shopId: 's', apiToken: 'token-0123456789abcdef', apiBaseUrl: 'https://pay.example' } };
  const { deliveries } = resolveOptions({ shops }, 'test');
  const store = { fail } as DeliveryStore;
  return { attempts: new FailedAttempts(store, new PaymentRandom(), deliveries, logger), written };
}

test('the error of a handler is logged although the database cannot record the attempt', async () => {
  const { attempts, written } = setUp(() => Promise.reject(new Error('Connection terminated')));
  await expect(attempts.conclude(consumer, delivery, new Error('out of stock'))).rejects.toThrow('terminated');
  expect(written.mock.calls).toEqual([['delivery-failed', expect.stringContaining('out of stock'), expect.anything()]]);
});

test('whatever a handler throws, its attempt is recorded', async () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const { attempts } = setUp(() => Promise.resolve(true));
  for (const thrown of [proxy, undefined, Object.create(null), new Error('255,'.repeat(2_000_000))])
    expect(await attempts.conclude(consumer, delivery, thrown)).toBe('retried');
});
