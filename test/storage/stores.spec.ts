import { deliveryId } from '../../libs/payment-acceptance/src/domain/event-id.js';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { FiguresStore } from '../../libs/payment-acceptance/src/operations/storage/records/figures.store.js';
import { BillHistoryStore } from '../../libs/payment-acceptance/src/operations/storage/records/bill-history.store.js';
import { RecordListsStore } from '../../libs/payment-acceptance/src/operations/storage/records/record-lists.store.js';
import { DoctorStore } from '../../libs/payment-acceptance/src/operations/storage/doctor.store.js';
import { ImportStore } from '../../libs/payment-acceptance/src/operations/storage/import.store.js';
import { OperatorStore } from '../../libs/payment-acceptance/src/operations/storage/operator.store.js';
import { ShopStore } from '../../libs/payment-acceptance/src/settlement/storage/shop.store.js';
import { StatisticsStore } from '../../libs/payment-acceptance/src/health/storage/statistics.store.js';
import { ReconciliationStore } from '../../libs/payment-acceptance/src/operations/storage/reconciliation.store.js';
import { MariaSettlementStore } from '../../libs/payment-acceptance/src/settlement/storage/mariadb/settlement.store.js';
import { PostgresSettlementStore } from '../../libs/payment-acceptance/src/settlement/storage/postgres/settlement.store.js';
import type { ClaimKey } from '../../libs/payment-acceptance/src/settlement/storage/settlement.store.js';
import { ResultStore } from '../../libs/payment-acceptance/src/callbacks/storage/result.store.js';
import { MariaDatabase } from '../../libs/payment-acceptance/src/database/mariadb/maria.database.js';
import type { PostgresDatabase } from '../../libs/payment-acceptance/src/database/postgres/postgres.database.js';
import { PaymentRandom } from '../../libs/payment-acceptance/src/common/random.js';
import { LedgerReader } from '../support/ledger.js';
import { Records } from './support/records.js';

const statisticsOf = ({ database }: Records) => new StatisticsStore(database);

describe('stores on both databases', () => {
  let records: Records;
  beforeEach(async () => {
    records = await Records.open();
  });
  afterEach(() => records.close());

  test('a result is paid, failed once no callback may mean another payment, or else pending', async () => {
    const [paid, failed, hinted, fresh] = await Promise.all(
      ['paid', 'failed', 'hinted', 'fresh'].map((order) =>
        records.bill(order, { state: order === 'paid' ? 'PAID' : 'OPEN' }),
      ),
    );
    for (const id of [failed, hinted]) {
      await records.payment(id!, `of-${id}`, { status: 'FAIL', verdict: 'failed' });
    }
    await records.postback({ intentId: hinted!, pending: true });
    const results = new ResultStore(records.database);
    const shown = (result: string, amount = '10.50') => ({ result, amount, currency: 'RUB' });
    expect(await results.ofIntents([paid!, failed!, hinted!, fresh!, randomUUID()])).toEqual(
      new Map([
        [paid, shown('paid')],
        [failed, shown('failed')],
        [hinted, shown('pending')],
        [fresh, shown('pending')],
      ]),
    );
    expect(await results.ofIntents([])).toEqual(new Map());
  });

  test.each([
    ['a postback says that one has succeeded, and the list is asked again', { status: 'SUCCESS', asks: 2 }, 'pending'],
    ['a postback says again that one has failed', { status: 'FAIL', asks: 2 }, 'failed'],
    [
      'the payer came to the Success URL, and the list is asked again',
      { kind: 'redirect-success', asks: 2 },
      'pending',
    ],
    [
      'the payer came to the Success URL, and the list was asked',
      { kind: 'redirect-success', pending: false },
      'failed',
    ],
    ['the payer came to the Fail URL', { kind: 'redirect-fail', pending: false }, 'failed'],
  ])(
    'the result of a bill whose payments have all failed depends on callbacks: %s',
    async (_what, callback, expected) => {
      const id = await records.bill('A');
      await records.payment(id, 'p-1', { status: 'FAIL', verdict: 'failed' });
      await records.postback({ intentId: id, pending: true, ...callback });
      const results = new ResultStore(records.database);
      expect((await results.ofIntents([id])).get(id)?.result).toBe(expected);
    },
  );

  test('the result of an order paid by another of its bills shows what was paid', async () => {
    const paid = await records.bill('A', { state: 'PAID' });
    await records.payment(paid, 'p-1');
    await records.firstPayment('A', 'p-1');
    const other = await records.bill('A', { attempt: 2, amount: '99.00', billId: 'service-A-2' });
    const shown = { result: 'paid', amount: '10.50', currency: 'RUB' };
    expect(await new ResultStore(records.database).ofIntents([paid, other])).toEqual(
      new Map([
        [paid, shown],
        [other, shown],
      ]),
    );
  });

  test('the doctor store finds the latest bill with a payment, counts digests, and finds no missing privilege', async () => {
    const store = new DoctorStore(records.database);
    expect(await store.billWithPayments('main')).toBeUndefined();
    const id = await records.bill('A');
    await records.payment(id, 'p-1');
    await records.postback({ intentId: id, corroboration: { order: 'match' } });
    expect(await store.billWithPayments('main')).toBe('service-A');
    expect(await store.digests('main')).toEqual({ confirmed: 1, matching: 1, absent: 0 });
    expect(await store.digests('eu')).toEqual({ confirmed: 0, matching: 0, absent: 0 });
    expect(await store.missingPrivilege()).toBeUndefined();
  });

  test('the settlement store reads payments after the bills are locked, also where plans are renewed', async () => {
    const { database } = records;
    const id = await records.bill('A');
    const token = randomUUID();
    await database.change`UPDATE payment_acceptance.bill SET lease_token = ${token} WHERE intent_id = ${id}`;
    const store =
      database instanceof MariaDatabase
        ? new MariaSettlementStore(database)
        : new PostgresSettlementStore(database as PostgresDatabase);
    const claim = { intentId: id, shop: 'main', orderId: 'A', token } as ClaimKey;
    const read = () =>
      store.transaction(async (tx) => {
        const { locked, known } = await store.lockAndRead(tx, [claim], true, [claim.intentId], []);
        return [locked.length, ...known.map(({ paymentId }) => paymentId)];
      }, true);
    // On two connections, each of which then renews plans as old as this.
    expect(await Promise.all([read(), read()])).toEqual([[1], [1]]);
    const { now } = performance;
    performance.now = () => now.call(performance) + 60_000;
    try {
      let reading: ReturnType<typeof read> | undefined;
      await database.transaction(async (tx) => {
        await tx.rows({})`SELECT 1 AS one FROM payment_acceptance.bill WHERE intent_id = ${id} FOR UPDATE`;
        reading = read();
        await records.payment(id, 'p-1', {}, tx);
      });
      expect(await reading).toEqual([1, 'p-1']);
    } finally {
      performance.now = now;
    }
  });

  test('the import store adds the next attempt of an order, open since its creation', async () => {
    await records.bill('A');
    const store = new ImportStore(records.database);
    const createdAt = new Date('2026-01-02T03:04:05.678Z');
    const foreign = {
      shop: 'main',
      shopId: '17',
      orderId: 'A',
      amount: '7.00',
      currency: 'RUB',
      payerPaysCommission: true,
    };
    const texts = { description: null, name: null, type: 'normal', custom: 'x', linkUrl: null, linkPageUrl: null };
    const bill = { ...foreign, ...texts, intentId: randomUUID(), customGiven: false, billId: 'foreign', createdAt };
    await records.database.transaction((manager) => store.insert(manager, bill));
    expect(await store.findBill('main', 'foreign')).toEqual({
      orderId: 'A',
      amount: '7.00',
      currency: 'RUB',
      payerPaysCommission: true,
      state: 'OPEN',
    });
    expect(await store.findBill('eu', 'foreign')).toBeUndefined();
    const { bills } = await new LedgerReader(records.database).read(10, 'main');
    expect(bills.find(({ billId }) => billId === 'foreign')).toMatchObject({
      attempt: 2,
      createdAt: createdAt.toISOString(),
    });
  });

  test('the reconciliation store pages bills by the time of opening, only within the span', async () => {
    const ids = await Promise.all(['A', 'B', 'C'].map((order) => records.bill(order)));
    const ended = await records.bill('D', { state: 'EXPIRED' });
    await records.payment(ids[0]!, 'p-1');
    const store = new ReconciliationStore(records.database);
    const span = {
      shop: 'main',
      from: new Date(0),
      to: new Date(Date.now() + 60_000),
      day: '1970-01-01',
      followedSince: null,
    };
    const first = await store.bills(span, undefined, 2);
    const rest = await store.bills(span, first.at(-1), 9);
    expect([...first, ...rest].map(({ intentId }) => intentId).sort()).toEqual([...ids].sort());
    expect(first[0]!.openedAt).toBeInstanceOf(Date);
    await records.database.change`
      UPDATE payment_acceptance.bill SET ended_at = ${records.database.dialect.now(0)} WHERE intent_id = ${ended}`;
    const later = { ...span, from: new Date(Date.now() + 30_000), followedSince: new Date(0) };
    expect((await store.bills(later, undefined, 9)).map(({ intentId }) => intentId)).toContain(ended);
    expect(await store.payments(ids[0]!)).toMatchObject([
      { paymentId: 'p-1', amount: '10.50', succeeded: false, firstSeenAt: expect.any(Date) },
    ]);
  });

  test('the operator store attaches a bill once, replays dead letters once, and counts by shop', async () => {
    const id = await records.bill('A', { state: 'UNKNOWN', billId: null });
    const event = await records.event(id, 'payment.succeeded', {});
    await records.delivery(event, id, 'orders', 'DEAD');
    await records.consumer('orders');
    await records.postback({ pending: true });
    const store = new OperatorStore(records.database, new PaymentRandom());
    const counts = { unknownBills: 1, deadLetters: 1, pendingDeliveries: 0, waitingCallbacks: 1, oldestCheckMs: null };
    const statistics = statisticsOf(records);
    expect(await statistics.stats('main')).toMatchObject(counts);
    expect(await statistics.stats('eu')).toMatchObject({ unknownBills: 0, deadLetters: 0, waitingCallbacks: 0 });
    const [letter] = await new RecordListsStore(records.database).deadLetters(null, { consumer: 'orders' }, 9);
    expect(letter).toMatchObject({ eventId: event, attempts: 3, deliveryId: deliveryId(event, 'orders') });
    const replay = (id: string, scope: string | null) =>
      store.transaction(async (manager) => {
        const dead = await store.deadToReplay({ deliveryId: id }, scope);
        return store.replay(
          manager,
          dead.map((each) => each.id),
        );
      });
    const { deliveryId: own } = letter!;
    const others = await replay(deliveryId(event, 'mails'), null);
    expect([others, await replay(own, 'eu'), await replay(own, null), await replay(own, null)]).toEqual([0, 0, 1, 0]);
    const attach = () => store.transaction((manager) => store.attach(manager, id, 'attached', null));
    expect([await attach(), await attach()]).toEqual([true, false]);
    records.clock.advance(5_000);
    const { oldestDeliveryMs, oldestCheckMs } = await statistics.stats(null);
    expect(oldestDeliveryMs).toBeGreaterThanOrEqual(5_000);
    expect(oldestCheckMs).toBeGreaterThanOrEqual(5_000);
  });

  test("the operator store adds to an action's count, and does not restore what an erasure removed", async () => {
    const { database } = records;
    const store = new OperatorStore(database, new PaymentRandom());
    const detail = { filter: {}, note: 'called Ann', count: 20 };
    const id = await store.record({ operator: 'ann', action: 'replay', target: 'dead letters', detail });
    const change = database.dialect.jsonWith('detail', { note: '' });
    await database.change`UPDATE payment_acceptance.operator_action SET detail = ${change} WHERE id = ${id}`;
    await store.amend(id, { count: 40 });
    const [row] = await database.rows<{ detail: string }>({})`
      SELECT ${database.dialect.text('detail')} AS detail FROM payment_acceptance.operator_action WHERE id = ${id}`;
    expect(JSON.parse(row!.detail)).toEqual({ filter: {}, note: '', count: 40 });
  });

  test('a callback that nobody checks counts as an overdue check', async () => {
    const statistics = statisticsOf(records);
    await new ShopStore(records.database).register(['main', 'eu']);
    const id = await records.bill('A');
    await records.postback({ intentId: id, pending: true });
    const unnamed = await records.bill('B', { state: 'UNKNOWN', billId: null });
    await records.postback({ intentId: unnamed, pending: true });
    records.clock.advance(400_000);
    const { oldestCheckMs } = await statistics.stats(null);
    expect(oldestCheckMs).toBeGreaterThanOrEqual(400_000);
    expect((await statistics.stats('eu')).oldestCheckMs).toBeNull();
    await records.database.change`DELETE FROM payment_acceptance.callback WHERE intent_id = ${id}`;
    expect((await statistics.stats(null)).oldestCheckMs).toBeNull();
  });

  test("the statistics find the oldest waiting delivery, and each consumer's oldest failing one", async () => {
    const statistics = statisticsOf(records);
    const add = async (orderId: string, consumer: string, code: string | null): Promise<string> => {
      const id = await records.bill(orderId);
      await records.delivery(await records.event(id, 'payment.succeeded', {}), id, consumer, 'PENDING');
      await records.database.change`
        UPDATE payment_acceptance.delivery SET last_error_code = ${code} WHERE intent_id = ${id}`;
      records.clock.advance(60_000);
      return id;
    };
    for (const name of ['mail', 'orders']) await records.consumer(name);
    expect(await statistics.stats(null)).toMatchObject({ pendingDeliveries: 0, oldestDeliveryMs: null });
    expect(await statistics.failingConsumers(9)).toEqual([]);
    await add('A', 'orders', null);
    await add('B', 'orders', 'Error');
    await add('C', 'mail', null);
    await add('D', 'orders', 'order-not-found');
    await add('E', 'mail', 'Other');
    const minutes = async () => Math.floor((await statistics.stats(null)).oldestDeliveryMs! / 60_000);
    expect(await minutes()).toBe(5);
    expect(await statistics.stats(null)).toMatchObject({ pendingDeliveries: 5 });
    const failing = await statistics.failingConsumers(9);
    expect(failing.map(({ oldestMs, ...each }) => ({ ...each, minutes: Math.floor(oldestMs / 60_000) }))).toEqual([
      { consumer: 'orders', deliveries: 2, ordersNotFound: 1, reason: 'Error', minutes: 4 },
      { consumer: 'mail', deliveries: 1, ordersNotFound: 0, reason: 'Other', minutes: 1 },
    ]);
    expect(await statistics.failingConsumers(1)).toMatchObject([{ consumer: 'orders' }]);
  });

  test("the console's lists are paged, searched by any id, and have the bills of actions", async () => {
    const ids: string[] = [];
    for (let index = 0; index < 22; index += 1) {
      ids.unshift(await records.bill(`order-${index}`, { state: index % 2 ? 'OPEN' : 'PAID' }));
      records.clock.advance(1_000);
    }
    const [newest] = ids as [string];
    await records.payment(newest, 'p-1');
    const review = await records.review(newest, 'p-1', { listed: { amount: '1.00' } });
    const store = new RecordListsStore(records.database);
    const { rows, more } = await store.bills(null, ['OPEN', 'PAID']);
    expect([rows.map(({ intentId }) => intentId), more]).toEqual([ids.slice(0, 20), true]);
    const next = await store.bills(null, ['OPEN', 'PAID'], rows.at(-1)!.intentId);
    expect([next.rows.map(({ intentId }) => intentId), next.more]).toEqual([ids.slice(20), false]);
    expect(await store.bills(null, [])).toEqual({ rows: [], more: false });
    for (const text of ['order-21', 'service-order-21', 'p-1', newest]) {
      expect(await store.search('main', text)).toMatchObject([{ intentId: newest, attempt: 1, amount: '10.50' }]);
    }
    expect(await store.review(null, review)).toMatchObject({ succeeded: true, newest: { listed: { amount: '1.00' } } });
    const operator = new OperatorStore(records.database, new PaymentRandom());
    for (const target of [review, newest, 'dead letters', randomUUID()]) {
      const action = { operator: 'olga', action: 'note', target, detail: { note: 'why' } };
      await operator.record(action);
      records.clock.advance(1_000);
    }
    const actions = await store.actions();
    expect(actions.rows.map(({ intentId }) => intentId)).toEqual([null, null, newest, newest]);
    const history = await new BillHistoryStore(records.database).ofBill('main', newest);
    expect(history).toMatchObject({
      bill: { customGiven: true, payerPaysCommission: false, failedChecks: 0 },
      actions: [{ detail: { note: 'why' } }, { target: newest }],
      truncated: false,
    });
  });

  test("the console's figures have hours, waiting work by age, and errors by name", async () => {
    const id = await records.bill('A');
    await records.payment(id, 'p-1');
    const event = await records.event(id, 'payment.succeeded', { paymentId: 'p-1' });
    await records.delivery(event, id, 'orders', 'PENDING');
    records.clock.advance(120_000);
    const figures = await new FiguresStore(records.database).read('main', [60_000, 300_000]);
    expect(figures.hours).toHaveLength(24);
    expect(figures.hours.reduce((sum, { succeeded }) => sum + succeeded, 0)).toBe(1);
    expect(figures).toMatchObject({
      truncated: false,
      settled: [{ shop: 'main', createdAtText: '2026-01-01 10:00:00', settledAt: expect.any(Date) }],
      waiting: [{ kind: 'delivery', age: 0, count: 1 }],
      errors: [{ where: 'orders', kind: 'SomeError', count: 1 }],
      states: [{ state: 'OPEN', count: 1 }],
    });
  });

  test('the statistics name refused shops, up to a limit', async () => {
    const { database } = records;
    for (const shop of ['c', 'a', 'b']) {
      await database.change`INSERT INTO payment_acceptance.shop_state (shop, next_request_at, refused_since)
        VALUES (${shop}, ${database.dialect.now(0)}, ${database.dialect.now(0)})`;
    }
    expect(await statisticsOf(records).refusedShops(2)).toEqual(['a', 'b']);
  });
});
