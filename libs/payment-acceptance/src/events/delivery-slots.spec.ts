import { describe, expect, test } from '@jest/globals';
import type { EventConsumer } from './consumer.js';
import { DeliverySlots } from './delivery-slots.js';

const consumer = (name: string, kind: EventConsumer['kind'], isReady = true) =>
  ({ name, event: 'payment.succeeded', shops: null, kind, isReady: () => isReady }) as unknown as EventConsumer;

/** Slots of a pool of `size`, of which `free` can be changed. */
function setUp(consumers: EventConsumer[], { concurrency = 32, size = 10 } = {}) {
  const pool = { size, connections: size, free: () => pool.connections };
  const slots = new DeliverySlots(concurrency, pool);
  slots.host(consumers);
  const offered = (limit = concurrency) => {
    const { consumers: able, limit: most } = slots.offer(limit);
    return [able.map(({ name }) => name).join(' '), able.length > 0 ? most : 0];
  };
  const take = (name: string, count: number): void => {
    for (let left = count; left > 0; left -= 1) slots.take(name);
  };
  return { pool, slots, offered, take };
}

describe('slots for deliveries', () => {
  test('handlers in transactions get at most half of the pool, however many deliveries may run', () => {
    const { offered, take } = setUp([consumer('orders', 'transaction')]);
    expect(offered()).toEqual(['orders', 5]);
    expect(offered(3)).toEqual(['orders', 3]);
    take('orders', 5);
    expect(offered()).toEqual(['', 0]);
  });

  test('handlers in transactions get at least one slot, even in the smallest pool', () => {
    expect(setUp([consumer('orders', 'transaction')], { size: 2 }).offered()).toEqual(['orders', 1]);
    expect(setUp([consumer('orders', 'transaction')], { size: 3 }).offered()).toEqual(['orders', 1]);
  });

  test('handlers in transactions get all free connections of the pool but one', () => {
    const { pool, slots, offered, take } = setUp([consumer('orders', 'transaction')]);
    pool.connections = 4;
    expect(offered()).toEqual(['orders', 3]);
    expect(slots.inTransactions).toEqual({ running: 0, limit: 3 });
    take('orders', 2);
    pool.connections = 2;
    expect(offered()).toEqual(['orders', 1]);
    pool.connections = 1;
    expect(offered()).toEqual(['', 0]);
    expect(slots.inTransactions).toEqual({ running: 2, limit: 2 });
  });

  test('an exhausted pool still offers one slot to handlers in transactions, which waits like any other query', () => {
    const { pool, slots, offered, take } = setUp([consumer('orders', 'transaction')]);
    pool.connections = -20;
    expect(offered()).toEqual(['orders', 1]);
    take('orders', 1);
    expect(offered()).toEqual(['', 0]);
    slots.leave('orders');
    expect(offered()).toEqual(['orders', 1]);
  });

  test('handlers outside transactions are not limited by the connections of the pool', () => {
    const { pool, offered, take } = setUp([consumer('orders', 'transaction'), consumer('mail', 'lease')]);
    pool.connections = 0;
    take('orders', 5);
    expect(offered()).toEqual(['mail', 16]);
  });

  test('with several consumers one gets at most half of the slots, both overall and in transactions', () => {
    const { offered, take, slots } = setUp([
      ...[consumer('orders', 'transaction'), consumer('stock', 'transaction')],
      ...[consumer('rabbit', 'broker'), consumer('nats', 'broker')],
    ]);
    expect(offered()).toEqual(['orders stock rabbit nats', 2]);
    take('orders', 2);
    expect(offered()).toEqual(['stock rabbit nats', 2]);
    take('rabbit', 16);
    expect(offered()).toEqual(['stock', 2]);
    expect(slots.running).toBe(18);
  });

  test('a broker that is not ready gets no slots', () => {
    const { offered, slots, take } = setUp([consumer('rabbit', 'broker', false), consumer('mail', 'lease')]);
    expect([offered(), slots.offer(32).isFull]).toEqual([['mail', 16], false]);
    take('mail', 16);
    expect([offered(), slots.offer(32).isFull]).toEqual([['', 0], true]);
  });
});
