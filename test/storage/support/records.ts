import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { ManualPaymentClock } from '../../../libs/payment-acceptance/src/common/clock.js';
import type { Database } from '../../../libs/payment-acceptance/src/storage/database.js';
import { openDatabase } from '../../../libs/payment-acceptance/src/storage/open-database.js';
import { rawSql, sql, type Statement } from '../../../libs/payment-acceptance/src/storage/statement.js';
import { ON_MARIADB, connectionOf, createTestDatabase } from '../../support/database.js';
import { HOST_TABLES } from '../../support/harness.js';

/** What the tests of stores write without going through a store; instants are the clock's own. */
export interface Records {
  readonly database: Database;
  readonly clock: ManualPaymentClock;
  bill(orderId: string, values?: { shop?: string; state?: string; billId?: string | null }): Promise<string>;
  payment(
    intentId: string,
    paymentId: string,
    values?: { status?: string; verdict?: string; amount?: string },
  ): Promise<void>;
  event(intentId: string, name: string, payload: object): Promise<string>;
  delivery(eventId: string, intentId: string, consumer: string, state: string): Promise<void>;
  review(intentId: string, paymentId: string | null, detail: object): Promise<string>;
  postback(values: { intentId?: string; corroboration?: object; pending?: boolean }): Promise<void>;
  close(): Promise<void>;
}

const KEY = rawSql(ON_MARIADB ? '`key`' : 'key');

/** A database of its own with the module's tables, on whichever server the run is for. */
export async function openRecords(): Promise<Records> {
  const testDatabase = await createTestDatabase(HOST_TABLES);
  const dataSource = await new DataSource(connectionOf(testDatabase.url)).initialize();
  const clock = new ManualPaymentClock();
  const database = await openDatabase(dataSource, clock);
  const now = (): Statement => database.dialect.now(database.offsetMs);
  const shopOf = (intentId: string): Statement =>
    sql`(SELECT shop FROM payment_acceptance.bill WHERE id = ${intentId})`;
  return {
    database,
    clock,
    async bill(orderId, { shop = 'main', state = 'OPEN', billId = `service-${orderId}` } = {}) {
      const id = randomUUID();
      await database.change(
        sql`INSERT INTO payment_acceptance.shop_order (shop, order_id) VALUES (${shop}, ${orderId})`,
      );
      await database.change(
        sql`INSERT INTO payment_acceptance.bill (id, shop, order_id, attempt, state, amount, currency, payer_pays_commission,
           type, custom, custom_given, service_bill_id, created_at, opened_at, check_after)
         VALUES (${id}, ${shop}, ${orderId}, 1, ${state}, 10.50, 'RUB', false, 'normal', 'c', true, ${billId}, ${now()},
           ${now()}, ${now()})`,
      );
      return id;
    },
    async payment(intentId, paymentId, { status = 'SUCCESS', verdict = 'succeeded', amount = '10.50' } = {}) {
      await database.change(
        sql`INSERT INTO payment_acceptance.payment (shop, payment_id, bill_id, status, amount, currency, service_created_at,
           service_status, verdict, first_seen_at, changed_at)
         VALUES (${shopOf(intentId)}, ${paymentId}, ${intentId}, ${status}, ${amount}, 'RUB', '2026-01-01 10:00:00',
           ${status}, ${verdict}, ${now()}, ${now()})`,
      );
    },
    async event(intentId, name, payload) {
      const id = randomUUID();
      await database.change(
        sql`INSERT INTO payment_acceptance.event (id, ${KEY}, name, shop, bill_id, payload, occurred_at)
         VALUES (${id}, ${id}, ${name}, ${shopOf(intentId)}, ${intentId}, ${JSON.stringify(payload)}, ${now()})`,
      );
      return id;
    },
    async delivery(eventId, intentId, consumer, state) {
      await database.change(
        sql`INSERT INTO payment_acceptance.delivery (event_id, event_name, seq, bill_id, consumer, state, attempts, due_at,
           last_error)
         SELECT id, name, seq, ${intentId}, ${consumer}, ${state}, 3, ${now()}, 'SomeError: says why'
         FROM payment_acceptance.event WHERE id = ${eventId}`,
      );
    },
    async review(intentId, paymentId, detail) {
      const id = randomUUID();
      await database.change(
        sql`INSERT INTO payment_acceptance.review (id, ${KEY}, shop, order_id, bill_id, payment_id, reason, detail, state,
           opened_at)
         SELECT ${id}, ${id}, shop, order_id, id, ${paymentId}, 'wrong-amount', ${JSON.stringify(detail)}, 'OPEN', ${now()}
         FROM payment_acceptance.bill WHERE id = ${intentId}`,
      );
      return id;
    },
    async postback({ intentId, corroboration = {}, pending = false }) {
      await database.change(
        sql`INSERT INTO payment_acceptance.callback (id, kind, shop, bill_id, digest, corroboration, fields, received_at,
           pending, due_at, outcome)
         VALUES (${randomUUID()}, 'postback', 'main', ${intentId ?? null}, 'match', ${JSON.stringify(corroboration)}, '{"a":"b"}',
           ${now()}, ${pending}, ${now()}, ${pending ? null : 'confirmed'})`,
      );
    },
    async close() {
      await dataSource.destroy();
      await testDatabase.drop();
    },
  };
}
