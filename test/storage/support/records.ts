import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { ManualPaymentClock } from '../../../libs/payment-acceptance/src/common/clock.js';
import type { Database } from '../../../libs/payment-acceptance/src/database/database.js';
import { openDatabase } from '../../../libs/payment-acceptance/src/database/open-database.js';
import type { OwnTransaction } from '../../../libs/payment-acceptance/src/database/own-transaction.js';
import { rawSql, sql, type Statement } from '../../../libs/payment-acceptance/src/database/statement.js';
import { ON_MARIADB, connectionOf, createTestDatabase, type TestDatabase } from '../../support/database.js';
import { beside } from '../../support/beside.js';
import { HOST_TABLES } from '../../support/harness.js';

const KEY = rawSql(ON_MARIADB ? '`key`' : 'key');

/** Writes rows for the tests of stores, bypassing the stores, in a test database with the module's tables. */
export class Records {
  private constructor(
    readonly database: Database,
    readonly clock: ManualPaymentClock,
    private readonly dataSource: DataSource,
    private readonly testDatabase: TestDatabase,
  ) {}

  /** Opens a database of its own, on whichever server the run is for. */
  static async open(): Promise<Records> {
    const testDatabase = await createTestDatabase(HOST_TABLES);
    const dataSource = await new DataSource(connectionOf(testDatabase.url)).initialize();
    const clock = new ManualPaymentClock();
    return new Records(await openDatabase(beside(dataSource), clock), clock, dataSource, testDatabase);
  }

  async close(): Promise<void> {
    await this.dataSource.destroy();
    await this.testDatabase.drop();
  }

  async bill(
    orderId: string,
    {
      shop = 'main',
      state = 'OPEN',
      billId = `service-${orderId}`,
      attempt = 1,
      amount = '10.50',
    }: { shop?: string; state?: string; billId?: string | null; attempt?: number; amount?: string } = {},
  ): Promise<string> {
    const id = randomUUID();
    if (attempt === 1) {
      await this.database.change`
        INSERT INTO payment_acceptance.shop_order (shop, order_id) VALUES (${shop}, ${orderId})`;
    }
    await this.database.change`
      INSERT INTO payment_acceptance.bill (intent_id, shop, shop_id, order_id, attempt, state, amount, currency, payer_pays_commission,
        type, custom, custom_given, bill_id, created_at, opened_at, check_after)
      VALUES (${id}, ${shop}, ${shop}, ${orderId}, ${attempt}, ${state}, ${amount}, 'RUB', false, 'normal', 'c', true, ${billId}, ${this.now()},
        ${this.now()}, ${this.now()})`;
    return id;
  }

  async payment(
    intentId: string,
    paymentId: string,
    {
      status = 'SUCCESS',
      verdict = 'succeeded',
      amount = '10.50',
    }: { status?: string; verdict?: string; amount?: string } = {},
    within?: OwnTransaction,
  ): Promise<void> {
    await (within ?? this.database).change`
      INSERT INTO payment_acceptance.payment (shop, payment_id, intent_id, status, amount, currency, service_created_at,
        service_status, verdict, first_seen_at, changed_at)
      VALUES (${shopOf(intentId)}, ${paymentId}, ${intentId}, ${status}, ${amount}, 'RUB', '2026-01-01 10:00:00',
        ${status}, ${verdict}, ${this.now()}, ${this.now()})`;
  }

  /** Marks the order as first paid by this payment. */
  async firstPayment(orderId: string, paymentId: string): Promise<void> {
    await this.database.change`
      UPDATE payment_acceptance.shop_order SET first_payment_id = ${paymentId} WHERE order_id = ${orderId}`;
  }

  async event(intentId: string, name: string, payload: object): Promise<string> {
    const id = randomUUID();
    await this.database.change`
      INSERT INTO payment_acceptance.event (id, ${KEY}, name, shop, intent_id, payload, occurred_at)
      VALUES (${id}, ${id}, ${name}, ${shopOf(intentId)}, ${intentId}, ${JSON.stringify(payload)}, ${this.now()})`;
    return id;
  }

  async delivery(eventId: string, intentId: string, consumer: string, state: string): Promise<void> {
    await this.database.change`
      INSERT INTO payment_acceptance.delivery (event_id, event_name, seq, intent_id, consumer, state, attempts, due_at,
        last_error)
      SELECT id, name, seq, ${intentId}, ${consumer}, ${state}, 3, ${this.now()}, 'SomeError: says why'
      FROM payment_acceptance.event WHERE id = ${eventId}`;
  }

  /** Registers a consumer, as an instance that hosts it does. */
  async consumer(name: string): Promise<void> {
    await this.database.change`INSERT INTO payment_acceptance.consumer (name, event_name, last_seen_at)
      VALUES (${name}, 'payment.succeeded', ${this.now()})`;
  }

  async review(intentId: string, paymentId: string | null, detail: object): Promise<string> {
    const id = randomUUID();
    await this.database.change`
      INSERT INTO payment_acceptance.review (id, ${KEY}, shop, order_id, intent_id, payment_id, reason, detail, state,
        opened_at)
      SELECT ${id}, ${id}, shop, order_id, intent_id, ${paymentId}, 'wrong-amount', ${JSON.stringify(detail)}, 'OPEN', ${this.now()}
      FROM payment_acceptance.bill WHERE intent_id = ${intentId}`;
    return id;
  }

  async postback({
    intentId,
    corroboration = {},
    pending = false,
    kind = 'postback',
    status = null,
    asks = 0,
  }: {
    intentId?: string;
    corroboration?: object;
    pending?: boolean;
    kind?: string;
    status?: string | null;
    asks?: number;
  }): Promise<void> {
    await this.database.change`
      INSERT INTO payment_acceptance.callback (id, kind, shop, intent_id, digest, corroboration, fields, received_at,
        pending, due_at, outcome, status, asks)
      VALUES (${randomUUID()}, ${kind}, 'main', ${intentId ?? null}, 'match', ${JSON.stringify(corroboration)}, '{"a":"b"}',
        ${this.now()}, ${pending}, ${this.now()}, ${pending ? null : 'confirmed'}, ${status}, ${asks})`;
  }

  now(): Statement {
    return this.database.dialect.now(this.database.offsetMs);
  }
}

function shopOf(intentId: string): Statement {
  return sql`(SELECT shop FROM payment_acceptance.bill WHERE intent_id = ${intentId})`;
}
