import type { BillRecord, LockedOrder } from '../../domain/bill.js';
import type { CreatedBill } from '../../client/answers.js';
import type { BillId, OrderId } from '../../domain/ids.js';
import type { Database } from '../../database/database.js';
import type { Dialect } from '../../database/dialect.js';
import { flag, instant, integer, type ColumnReaders } from '../../database/reading.js';
import { ofScope, type ShopScope } from '../../database/scope.js';
import { rawSql, sql, type Statement } from '../../database/statement.js';
import type { OwnTransaction } from '../../database/own-transaction.js';

export interface NewBill extends Pick<
  BillRecord,
  | 'intentId'
  | 'shop'
  | 'shopId'
  | 'orderId'
  | 'attempt'
  | 'amount'
  | 'currency'
  | 'payerPaysCommission'
  | 'custom'
  | 'customGiven'
> {
  readonly description: string | null;
  readonly name: string | null;
  readonly type: string;
  readonly traceparent: string | null;
}

export const ABANDONED_FAILURE =
  'The outcome of the creation was not stored within its lease: the process ended, or the database was unreachable.';

export const INTENT_COLUMNS =
  rawSql(`intent_id, shop, shop_id, order_id, attempt, state, amount, currency, payer_pays_commission, description,
  name, type, custom, custom_given, traceparent, created_at, check_after, lease_until`);

export const BILL_READERS: ColumnReaders<BillRecord> = {
  attempt: integer,
  payerPaysCommission: flag,
  customGiven: flag,
  createdAt: instant,
  openedAt: instant,
  paidAt: instant,
  leaseEnded: flag,
  isScheduled: flag,
};

export function billColumns({ epochMs, text }: Dialect, now: Statement): Statement {
  return sql`intent_id AS "intentId", shop, order_id AS "orderId", attempt, state, ${text('amount')} AS amount, currency,
    payer_pays_commission AS "payerPaysCommission", custom, custom_given AS "customGiven",
    bill_id AS "billId", link_url AS "linkUrl", link_page_url AS "linkPageUrl", failure,
    ${epochMs('created_at')} AS "createdAt", ${epochMs('opened_at')} AS "openedAt", ${epochMs('paid_at')} AS "paidAt",
    coalesce(lease_until < ${now}, true) AS "leaseEnded", next_check_at IS NOT NULL AS "isScheduled", shop_id AS "shopId"`;
}

export abstract class BillStore<D extends Database = Database> {
  constructor(protected readonly database: D) {}

  /**
   * Stores the first intent of an order in one statement, which also locks the order. Returns `false` if the order
   * already exists, even if it was created just now, or if the database has no such statement.
   */
  abstract insertFirst(bill: Omit<NewBill, 'attempt'>, leaseMs: number): Promise<boolean>;

  /**
   * Opens a bill that the service has created, even if it has become `UNKNOWN` meanwhile.
   * @param isVoided opens it even if an operator has voided it
   */
  abstract open(
    id: string,
    answer: CreatedBill,
    firstCheckMs: number,
    isVoided?: 'voided',
  ): Promise<BillRecord | undefined>;

  /** Selects creations whose lease has expired, by a condition that can use an index. */
  protected abstract isAbandoned(now: Statement): Statement;

  /** @param report called for each bill before the commit */
  async closeAbandoned(limit: number, report: (bill: BillRecord) => void): Promise<BillRecord[]> {
    const { database } = this;
    const { oneOf, text } = database.dialect;
    const now = this.database.now();
    const abandoned = await database.ids`
      SELECT ${text('intent_id')} AS id FROM payment_acceptance.bill WHERE ${this.isAbandoned(now)} LIMIT ${limit}`;
    if (abandoned.length === 0) return [];
    return this.transaction(async (tx) => {
      const isStill = sql`t.state = 'CREATING' AND t.lease_until < ${now}`;
      const ofThese = sql`WHERE intent_id ${oneOf(await database.lockFree(tx, 'bill', abandoned, isStill), 'uuid')}`;
      await tx.change`
        UPDATE payment_acceptance.bill SET state = 'UNKNOWN', failure = ${ABANDONED_FAILURE}, lease_until = NULL,
        ended_at = ${now} ${ofThese}`;
      const closed = await this.read(sql`SELECT ${this.columns()} FROM payment_acceptance.bill ${ofThese}`, tx);
      closed.forEach(report);
      return closed;
    });
  }

  transaction<T>(work: (tx: OwnTransaction) => Promise<T>): Promise<T> {
    return this.database.transaction(work);
  }

  /** Locks the order, which need not have a bill, until the transaction ends. */
  async lockOrder(
    tx: OwnTransaction,
    shop: string,
    orderId: OrderId,
  ): Promise<LockedOrder & { readonly cancelledAt: Date | null }> {
    await tx.change`INSERT INTO payment_acceptance.shop_order (shop, order_id) VALUES (${shop}, ${orderId})
      ${this.database.dialect.ignoreExisting('shop', 'order_id')}`;
    const [order] = await tx.rows<LockedOrder & { readonly cancelledAt: Date | null }>({
      cancelled: flag,
      cancelledAt: instant,
    })`
      SELECT first_payment_id AS "firstPaymentId", cancelled_at IS NOT NULL AS cancelled,
        ${this.database.dialect.epochMs('cancelled_at')} AS "cancelledAt"
      FROM payment_acceptance.shop_order WHERE shop = ${shop} AND order_id = ${orderId} FOR UPDATE`;
    if (!order) throw new Error('The row of an order disappeared while it was being locked.');
    return order;
  }

  /** The order must be locked. */
  async cancelOrder(tx: OwnTransaction, shop: string, orderId: OrderId): Promise<void> {
    await tx.change`UPDATE payment_acceptance.shop_order SET cancelled_at = ${this.database.now()}
      WHERE shop = ${shop} AND order_id = ${orderId} AND cancelled_at IS NULL`;
  }

  /** The order must be locked. */
  async insert(tx: OwnTransaction, bill: NewBill, leaseMs: number): Promise<void> {
    const now = this.database.now();
    await tx.change`
      INSERT INTO payment_acceptance.bill (${INTENT_COLUMNS}) VALUES (${bill.intentId}, ${bill.shop}, ${bill.shopId},
      ${bill.orderId}, ${bill.attempt}, 'CREATING', ${bill.amount}, ${bill.currency}, ${bill.payerPaysCommission}, ${bill.description},
      ${bill.name}, ${bill.type}, ${bill.custom}, ${bill.customGiven}, ${bill.traceparent}, ${now}, ${now},
      ${this.database.now(leaseMs)})`;
  }

  /**
   * Stores an intent again, as the order's latest bill, if the database has lost its commit, for example in a failover
   * to a lagging standby. Otherwise returns the intent, or the service's bill if somebody has imported it.
   */
  async restore(
    bill: Omit<NewBill, 'attempt'>,
    billId: BillId | undefined,
    leaseMs: number,
  ): Promise<BillRecord | undefined> {
    return this.transaction(async (tx) => {
      await this.lockOrder(tx, bill.shop, bill.orderId);
      const bills = await this.ofOrder(bill.shop, bill.orderId, tx);
      const present = bills.find(
        (each) => each.intentId === bill.intentId || (each.billId !== null && each.billId === billId),
      );
      if (present) return present;
      await this.insert(tx, { ...bill, attempt: (bills.at(-1)?.attempt ?? 0) + 1 }, leaseMs);
      return undefined;
    });
  }

  /**
   * Closes a creation that made no bill (`REJECTED`) or may have made one (`UNKNOWN`); `false` if the answer to the
   * creation was stored first. `REJECTED` also replaces an `UNKNOWN` that was stored meanwhile.
   */
  async close(id: string, state: 'REJECTED' | 'UNKNOWN', failure: string, tx?: OwnTransaction): Promise<boolean> {
    const unended = state === 'REJECTED' ? sql`IN ('CREATING', 'UNKNOWN')` : sql`= 'CREATING'`;
    const closed = await (tx ?? this.database).change`
      UPDATE payment_acceptance.bill SET state = ${state}, failure = ${failure}, lease_until = NULL,
      ended_at = ${this.database.now()} WHERE intent_id = ${id} AND state ${unended}`;
    return closed === 1;
  }

  async ofOrder(shop: string, orderId: OrderId, tx?: OwnTransaction): Promise<BillRecord[]> {
    return this.read(
      sql`SELECT ${this.columns()} FROM payment_acceptance.bill WHERE shop = ${shop} AND order_id = ${orderId}
       ORDER BY attempt`,
      tx,
    );
  }

  async byId(id: string, scope: ShopScope = null): Promise<BillRecord | undefined> {
    const [bill] = await this.read(
      sql`SELECT ${this.columns()} FROM payment_acceptance.bill WHERE intent_id = ${id} AND ${ofScope('shop', scope)}`,
    );
    return bill;
  }

  /** @param statement selects {@link columns} */
  protected read(statement: Statement, tx?: OwnTransaction): Promise<BillRecord[]> {
    return (tx ?? this.database).rows(BILL_READERS)`${statement}`;
  }

  protected columns(): Statement {
    return billColumns(this.database.dialect, this.database.now());
  }
}
