import { describe, expect, test } from '@jest/globals';
import { PaymentOrderNotFoundError } from './consumer.errors.js';
import { requireOrder } from './require-order.js';

const EVENT = { orderId: 'order-1' };

/** A list with a count, as postgres.js returns it. */
const counted = (count: number | null, ...rows: object[]) => Object.assign(rows, { count });

/** An instance whose values are behind its own `toJSON`. */
class Model {
  constructor(private readonly values: object) {}
  toJSON = () => this.values;
}

describe('the order that a handler requires', () => {
  test.each<[string, object | number | bigint | null | undefined]>([
    ['null', null],
    ['undefined', undefined],
    ['an empty list', []],
    ['no row', 0],
    ['no row, as a bigint', 0n],
    ['TypeORM update', { affected: 0, raw: [], generatedMaps: [] }],
    ['TypeORM query on PostgreSQL', [[], 0]],
    ['TypeORM query on MariaDB', { affectedRows: 0, insertId: 0, serverStatus: 2, info: '' }],
    ['pg', { command: 'UPDATE', rowCount: 0, rows: [] }],
    ['mysql2', [{ affectedRows: 0, changedRows: 0 }, undefined]],
    ['mysql2 select', [[], [{ name: 'id' }]]],
    ['Drizzle on MariaDB', [{ affectedRows: 0 }]],
    ['Sequelize', [0]],
    ['Sequelize with rows', [0, []]],
    ['Kysely', { numUpdatedRows: 0n }],
    ['Kysely, as a list', [{ numUpdatedRows: 0n }]],
    ['Kysely, raw', { numAffectedRows: 0n, rows: [] }],
    ['Prisma updateMany', { count: 0 }],
    ['MongoDB', { acknowledged: true, matchedCount: 0, modifiedCount: 0 }],
    ['postgres.js', counted(0)],
  ])('requireOrder throws if the order is missing: %s', (_layer, found) => {
    expect(() => requireOrder(EVENT, found)).toThrow(PaymentOrderNotFoundError);
    expect(() => requireOrder(EVENT, found)).toThrow('"order-1"');
    expect(() => requireOrder({ orderId: '0' }, found)).toThrow(PaymentOrderNotFoundError);
    expect(() => requireOrder({ orderId: '2' }, found)).toThrow(PaymentOrderNotFoundError);
  });

  test.each<[string, object | number | bigint]>([
    ['an order', { id: 'order-1' }],
    ['an order with a count', { number: 'order-1', count: 0 }],
    ['a model', new Model({ id: 'order-1' })],
    ['a list of orders', [{ id: 'order-1' }]],
    ['a row', 1],
    ['a row, as a bigint', 1n],
    ['TypeORM update', { affected: 1 }],
    ['TypeORM update of two', { affected: 2 }],
    ['TypeORM query on PostgreSQL', [[], 1]],
    ['TypeORM query on PostgreSQL, returning', [[{ id: 'order-1' }], 1]],
    ['mysql2', [{ affectedRows: 1 }, undefined]],
    ['mysql2 select', [[{ id: 'order-1' }], [{ name: 'id' }]]],
    ['Sequelize', [1]],
    ['Kysely', [{ numUpdatedRows: 1n }]],
    ['Prisma updateMany', { count: 1 }],
    ['MongoDB', { matchedCount: 1, modifiedCount: 0 }],
    ['postgres.js', counted(1)],
    ['postgres.js select', counted(1, { id: 'order-1' })],
  ])('requireOrder returns the result if the order is there: %s', (_layer, found) => {
    expect(requireOrder(EVENT, found)).toBe(found);
  });

  test('requireOrder matches an order by a numeric id, and by an id object with a toString()', () => {
    const objectId = { toString: () => '65f0' };
    expect(requireOrder({ orderId: '17' }, { id: 17 })).toEqual({ id: 17 });
    expect(requireOrder({ orderId: '65f0' }, { _id: objectId })).toEqual({ _id: objectId });
  });

  test.each<[string, object | number]>([
    ['no count', { affected: undefined }],
    ['no count', { affected: null }],
    ['no count', { rowCount: null }],
    ['an unknown result', { modified: 0 }],
    ['an empty object', {}],
    ['another order', { id: 'order-2', at: Object.create(null) as object }],
    ['a list of others', [{ id: 'order-2' }]],
    ['a list of strings', ['order-1']],
    ['a promise', Promise.resolve(1)],
    ['a number that counts nothing', NaN],
    ['a negative number', -1],
  ])('requireOrder throws a TypeError if it cannot tell the order from %s', (_what, found) => {
    expect(() => requireOrder(EVENT, found)).toThrow(TypeError);
  });

  test('requireOrder says what to write instead, and takes neither a string nor a boolean', () => {
    expect(() => requireOrder(EVENT, {})).toThrow('requireOrder(event, order ? 1 : 0)');
    // @ts-expect-error: whether `true` means an order is not for this function to know
    expect(() => requireOrder(EVENT, true)).toThrow(TypeError);
    // @ts-expect-error: the same
    expect(() => requireOrder(EVENT, 'order-1')).toThrow(TypeError);
  });
});
