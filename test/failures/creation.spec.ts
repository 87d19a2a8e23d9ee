import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import {
  PaymentApplicationStoppingError,
  PaymentDatabaseError,
  PaymentRequestRefusedError,
  PaymentUnknownOutcomeError,
} from 'nestjs-payment-acceptance';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { PaymentProbe } from 'nestjs-payment-acceptance/testing';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BillService } from '../../libs/payment-acceptance/src/bills/bill.service.js';
import { BillStore } from '../../libs/payment-acceptance/src/bills/storage/bill.store.js';
import { ON_MARIADB, onPostgres } from '../support/database.js';
import { moduleOptions, startHarness, type Harness, type Instance } from '../support/harness.js';
import { until } from '../support/until.js';

let harness: Harness;
let answer: { status: number; body: string };
let server: Server;
let odd: Instance;

const create = (instance: Instance, orderId: string, amount = '10') =>
  instance.payments.createBill({ orderId, amount });
const failing = (instance: Instance, orderId: string): Promise<unknown> =>
  create(instance, orderId).catch((error: unknown) => error);
const billsOf = async (orderId: string) =>
  (await harness.host.ledger()).bills.filter((bill) => bill.orderId === orderId);
const link = { link_url: 'https://pay.example/link/1', link_page_url: 'https://pay.example/transfer/1' };

describe('creating a bill while things fail', () => {
  beforeAll(async () => {
    harness = await startHarness();
    server = createServer((_request, response) => {
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    odd = await harness.start({ options: { shops: moduleOptions(url).shops } });
  });
  afterAll(async () => {
    await harness.close();
    server.close();
  });

  onPostgres(test)("the service's answer survives a database that is away for a moment", async () => {
    // Fails twice: a sequence advances even if its transaction is rolled back.
    await harness.host.dataSource.query(`
      CREATE SEQUENCE failures;
      CREATE FUNCTION fail_twice() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('failures') <= 2 THEN RAISE EXCEPTION 'the disk is full'; END IF; RETURN NEW; END $$;
      CREATE TRIGGER fail_twice BEFORE UPDATE ON payment_acceptance.bill FOR EACH ROW
        WHEN (NEW.state = 'OPEN' AND NEW.order_id = 'away') EXECUTE FUNCTION fail_twice()`);
    expect((await create(harness.host, 'away')).billId).toBeTruthy();
    expect(await billsOf('away')).toMatchObject([{ state: 'OPEN' }]);
  });

  test('a commit whose answer was lost is not taken for an unknown outcome', async () => {
    let lost = false;
    const probe = harness.host.app.get(PaymentProbe);
    probe.reached = (point) => {
      if (lost || point !== 'after UPDATE payment_acceptance.bill') return;
      lost = true;
      throw new Error('the connection broke before the answer came');
    };
    const bill = await create(harness.host, 'ambiguous');
    probe.reached = () => undefined;
    expect(lost).toBe(true);
    expect(await billsOf('ambiguous')).toMatchObject([{ state: 'OPEN', billId: bill.billId }]);
  });

  test('an intent whose commit lost its reply sends no request, and the next call creates the bill', async () => {
    const stored = ON_MARIADB ? 'after COMMIT' : 'after INSERT payment_acceptance.shop_order';
    let lost = false;
    const probe = harness.host.app.get(PaymentProbe);
    probe.reached = (point) => {
      if (lost || point !== stored) return;
      lost = true;
      throw new Error('the connection broke before the answer came');
    };
    const error = await failing(harness.host, 'unsent');
    probe.reached = () => undefined;
    expect(error).toBeInstanceOf(PaymentDatabaseError);
    expect(error).toMatchObject({ message: expect.stringContaining('the connection broke') });
    await until(
      () => billsOf('unsent'),
      ([bill]) => bill?.state === 'REJECTED',
    );
    expect((await create(harness.host, 'unsent')).attempt).toBe(2);
  });

  test('an intent whose process was suspended beyond its lease is not sent', async () => {
    const stored = ON_MARIADB ? 'after COMMIT' : 'after INSERT payment_acceptance.shop_order';
    let isSuspended = false;
    const probe = harness.host.app.get(PaymentProbe);
    probe.reached = (point) => {
      if (isSuspended || point !== stored) return;
      isSuspended = true;
      harness.clock.advance(180_000);
    };
    const before = harness.sandbox.bills().length;
    const error = await failing(harness.host, 'suspended');
    probe.reached = () => undefined;
    expect(error).toMatchObject({ code: 'network', mayHaveLeft: false });
    expect(harness.sandbox.bills()).toHaveLength(before);
    expect(await billsOf('suspended')).toMatchObject([{ state: 'REJECTED' }]);
  });

  test('250 creations that a crash left behind are all closed at once', async () => {
    const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    await harness.host.dataSource.query(
      `INSERT INTO payment_acceptance.shop_order (shop, order_id) VALUES ('main', 'crashed')`,
    );
    const rows = Array.from(
      { length: 250 },
      (_each, index) =>
        `('00000000-0000-4000-8000-000000000${String(index + 100)}', 'main', 'shop-main', 'crashed', ${index + 1}, 'CREATING', 10,
          'RUB', false, 'normal', '', false, '2026-01-01', '2026-01-01', '2026-01-01')`,
    );
    await harness.host.dataSource
      .query(`INSERT INTO payment_acceptance.bill (intent_id, shop, shop_id, order_id, attempt,
      state, amount, currency, payer_pays_commission, type, custom, custom_given, created_at, lease_until, check_after)
      VALUES ${rows.join(', ')}`);
    await harness.host.app.get(BillService, { strict: false }).closeAbandoned();
    logged.mockRestore();
    const [left] = await harness.host.dataSource.query<[{ n: string }]>(
      `SELECT count(*) AS n FROM payment_acceptance.bill WHERE order_id = 'crashed' AND state = 'CREATING'`,
    );
    expect(Number(left.n)).toBe(0);
  });

  test('an unknown outcome is logged although the answer to its commit was lost', async () => {
    const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const store = harness.host.app.get(BillStore, { strict: false });
    const hold = harness.sandbox.holdAnswers('create');
    const creating = create(harness.host, 'unheard');
    await hold.reached();
    harness.clock.advance(600_000);
    const { transaction } = store;
    store.transaction = async (work) => {
      await transaction.call(store, work);
      throw new Error('Connection terminated');
    };
    const { closeAbandoned } = BillService.prototype;
    await expect(closeAbandoned.call(harness.host.app.get(BillService, { strict: false }))).rejects.toThrow();
    store.transaction = transaction;
    expect(JSON.stringify(logged.mock.calls)).toContain('unheard');
    logged.mockRestore();
    hold.release();
    await creating;
  });

  test('a call that is refused says nothing about an abandoned creation, which it leaves as it is', async () => {
    await create(harness.host, 'left');
    const hold = harness.sandbox.holdAnswers('create');
    const abandoned = harness.host.payments.createBill({ orderId: 'left', amount: '10' }, { newAttempt: true });
    await hold.reached();
    harness.clock.advance(600_000);
    const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const refused = create(await harness.start(), 'left', '12');
    await expect(refused).rejects.toMatchObject({ code: 'bill-mismatch' });
    expect(JSON.stringify(logged.mock.calls)).not.toContain('creation-unknown');
    logged.mockRestore();
    hold.release();
    await abandoned;
  });

  test('an answer that arrives after an operator has voided the intent opens the bill', async () => {
    const hold = harness.sandbox.holdAnswers('create');
    const creating = create(harness.host, 'voided');
    await hold.reached();
    harness.clock.advance(600_000);
    await harness.host.app.get(BillService, { strict: false }).closeAbandoned();
    const [{ intentId } = { intentId: '' }] = await billsOf('voided');
    await harness.host.app.get(PaymentOperations).voidBill(intentId, { operator: 'ben' });
    hold.release();
    const { billId } = await creating;
    expect(await billsOf('voided')).toMatchObject([{ state: 'OPEN', billId }]);
  });

  test('a bill whose lifetime ends before its first check is checked at its end', async () => {
    const schedule = { openMs: [3_600_000], lifetimeMs: 1_800_000 };
    const brief = await harness.start({ options: { schedule } });
    await create(brief, 'brief');
    const [bill] = await billsOf('brief');
    expect(Date.parse(bill!.nextCheckAt!) - Date.parse(bill!.createdAt)).toBeLessThan(1_900_000);
  });

  test('a refusal that is stored after the lease has ended leaves no unknown outcome', async () => {
    const store = harness.host.app.get(BillStore, { strict: false });
    const hold = harness.sandbox.holdAnswers('create');
    await harness.sandbox.setFaults({ requests: { unauthenticated: 1 } });
    const creating = failing(harness.host, 'late-refusal');
    await hold.reached();
    harness.clock.advance(600_000);
    expect(await store.closeAbandoned(9, () => undefined)).toMatchObject([{ orderId: 'late-refusal' }]);
    hold.release();
    expect(await creating).toMatchObject({ code: 'unauthenticated' });
    await harness.sandbox.clearFaults();
    expect(await billsOf('late-refusal')).toMatchObject([{ state: 'REJECTED' }]);
  });

  test('an abandoned creation is logged by the next call, and a late answer opens its bill without an end time', async () => {
    const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const hold = harness.sandbox.holdAnswers('create');
    const abandoned = create(harness.host, 'abandoned');
    await hold.reached();
    harness.clock.advance(600_000);
    const other = await harness.start();
    const next = create(other, 'abandoned');
    await until(
      () => billsOf('abandoned'),
      (bills) => bills.length === 2 && logged.mock.calls.length > 0,
    );
    expect(JSON.stringify(logged.mock.calls)).toContain('creation-unknown');
    logged.mockRestore();
    hold.release();
    await Promise.all([abandoned, next]);
    const bills = await harness.host.dataSource.query<object[]>(
      `SELECT state, ended_at AS "endedAt" FROM payment_acceptance.bill WHERE order_id = 'abandoned'`,
    );
    expect(bills).toEqual([
      { state: 'OPEN', endedAt: null },
      { state: 'OPEN', endedAt: null },
    ]);
  });

  test('a bill_id that already belongs to another bill is an unknown outcome that names it', async () => {
    answer = { status: 200, body: JSON.stringify({ success: 'true', bill_id: 'twin', ...link }) };
    await create(odd, 'twin-1');
    const error = await failing(odd, 'twin-2');
    expect(error).toBeInstanceOf(PaymentUnknownOutcomeError);
    expect(error).toMatchObject({ billId: 'twin', cause: { code: 'answer-not-understood' } });
    expect(await billsOf('twin-2')).toMatchObject([{ state: 'UNKNOWN', failure: expect.stringContaining('twin') }]);
  });

  test('a refusal whose message has a NUL and half a surrogate pair is stored as a refusal', async () => {
    answer = { status: 400, body: JSON.stringify({ message: 'bad\u0000field \ud800' }) };
    const error = await failing(odd, 'nul');
    expect(error).toBeInstanceOf(PaymentRequestRefusedError);
    expect(error).toMatchObject({ messageKey: 'bad field \ufffd' });
    expect(await billsOf('nul')).toMatchObject([{ state: 'REJECTED' }]);
  });

  test('an open bill is returned although a later attempt was refused', async () => {
    const first = await create(harness.host, 'kept-open');
    await harness.sandbox.setFaults({ requests: { unauthenticated: 1 } });
    const again = harness.host.payments.createBill({ orderId: 'kept-open', amount: '11' }, { newAttempt: true });
    await expect(again).rejects.toMatchObject({ code: 'unauthenticated' });
    await harness.sandbox.clearFaults();
    expect(await create(harness.host, 'kept-open')).toEqual(first);
  });

  test('on shutdown a creation under way ends and is stored, and no new one begins', async () => {
    const leaving = await harness.start();
    const hold = harness.sandbox.holdAnswers('create');
    const creating = create(leaving, 'leaving');
    const other = create(harness.host, 'busy');
    await hold.reached(2);
    const waiting = failing(leaving, 'busy');
    const closing = leaving.app.close();
    expect(await waiting).toBeInstanceOf(PaymentApplicationStoppingError);
    hold.release();
    expect((await creating).billId).toBeTruthy();
    await closing;
    await other;
    await expect(create(leaving, 'too-late')).rejects.toBeInstanceOf(PaymentApplicationStoppingError);
    expect(await billsOf('leaving')).toMatchObject([{ state: 'OPEN' }]);
  });
});
