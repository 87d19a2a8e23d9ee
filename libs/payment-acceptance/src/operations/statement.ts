import { databaseText } from '../common/text.js';
import type { Shop } from '../config/resolved-options.js';
import { serviceInstant } from '../config/time-zone.js';
import type { BillId, PaymentId } from '../domain/ids.js';
import type { DecimalAmount } from '../domain/money.js';
import type { PaymentStatus } from '../domain/payment.js';
import {
  differencesBetween,
  sideBySide,
  type ReconciliationDifference,
  type StatementComparison,
} from './reconciliation.js';
import type { LedgerPaymentOfBill, StatementBill, ReconciliationStore } from './storage/reconciliation.store.js';

/** A payment in a statement of the merchant's account. */
export interface StatementPayment {
  readonly paymentId: PaymentId;
  /** The service's `bill_id`; `null` if the statement has none. */
  readonly billId: BillId | null;
  readonly status: PaymentStatus;
  readonly amount: DecimalAmount;
  /** `null` if the statement has none: then it is not compared. */
  readonly currency: string | null;
  /** When the service created it. */
  readonly createdAt: Date;
}

const BATCH = 500;
const PAGE_SIZE = 5_000;

/** How far the clocks of the service and the database may be apart, even if the shop's `timeZone` is wrong. */
const SKEW_MS = 26 * 3_600_000;

/** What the statement covers; complete only once all of it has been read. */
class StatementSpan {
  readonly ids = new Set<PaymentId>();
  readonly statuses = new Set<string>(['SUCCESS']);
  from = Infinity;
  to = -Infinity;

  /** Returns `false` if the payment was added before. */
  add({ paymentId, status, createdAt }: StatementPayment): boolean {
    this.from = Math.min(this.from, createdAt.getTime());
    this.to = Math.max(this.to, createdAt.getTime());
    this.statuses.add(status);
    const sizeBefore = this.ids.size;
    return this.ids.add(paymentId).size > sizeBefore;
  }

  /** Whether a complete statement would list this payment of the ledger. */
  covers({ status, verdict, createdAtText, firstSeenAt }: LedgerPaymentOfBill, timeZone: string): boolean {
    const created = createdAtText === null ? undefined : serviceInstant(createdAtText, timeZone);
    const epochMs = (created ?? firstSeenAt).getTime();
    return (this.statuses.has(status) || verdict === 'succeeded') && epochMs >= this.from && epochMs <= this.to;
  }
}

/**
 * Yields a row for each payment that the statement lists, then one for each payment in the ledger that it should list
 * but does not. Within the time that its own payments span, it should list all SUCCESS payments, all that an operator
 * accepted, and all with any other status that it lists at least once.
 */
export async function* compareWithLedger(
  store: ReconciliationStore,
  shop: Shop,
  statement: AsyncIterable<StatementPayment>,
): AsyncGenerator<StatementComparison> {
  const span = new StatementSpan();
  for await (const batch of batchesOf(statement)) yield* compareBatch(store, shop.name, batch, span);
  if (span.from > span.to) return;
  let after: PaymentId = '';
  for (;;) {
    const page = await store.paymentsSeen(shop.name, new Date(span.from - SKEW_MS), after, PAGE_SIZE);
    for (const ledgerPayment of page) {
      if (!span.ids.has(ledgerPayment.paymentId) && span.covers(ledgerPayment, shop.timeZone)) {
        yield rowOf(shop.name, undefined, ledgerPayment, undefined, ['missing-in-statement']);
      }
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE_SIZE) return;
    after = last.paymentId;
  }
}

async function* compareBatch(
  store: ReconciliationStore,
  shop: string,
  batch: readonly StatementPayment[],
  span: StatementSpan,
): AsyncGenerator<StatementComparison> {
  const payments = await store.paymentsNamed(
    shop,
    batch.map(({ paymentId }) => databaseText(paymentId)),
  );
  const ledgerById = new Map(payments.map((payment) => [payment.paymentId, payment]));
  const named = batch.flatMap(({ paymentId, billId }) =>
    ledgerById.has(paymentId) || billId === null ? [] : databaseText(billId),
  );
  const bills = new Map((await store.billsNamed(shop, [...new Set(named)])).map((bill) => [bill.billId, bill]));
  for (const listed of batch) {
    const ledgerPayment = ledgerById.get(listed.paymentId);
    const bill = listed.billId === null ? undefined : bills.get(listed.billId);
    const duplicateDifference: ReconciliationDifference[] = span.add(listed) ? [] : ['listed-twice'];
    yield rowOf(shop, listed, ledgerPayment, bill, [
      ...duplicateDifference,
      ...differencesOf(listed, ledgerPayment, bill),
    ]);
  }
}

function differencesOf(
  listed: StatementPayment,
  ledgerPayment: LedgerPaymentOfBill | undefined,
  bill: StatementBill | undefined,
): ReconciliationDifference[] {
  if (!ledgerPayment)
    return listed.billId !== null && !bill ? ['missing-in-ledger', 'unknown-bill'] : ['missing-in-ledger'];
  const isOfOther = listed.billId !== null && listed.billId !== ledgerPayment.billId;
  const differences = differencesBetween(
    { ...listed, currency: listed.currency ?? ledgerPayment.currency },
    ledgerPayment,
  );
  return isOfOther ? ['other-bill', ...differences] : differences;
}

function rowOf(
  shop: string,
  listed: StatementPayment | undefined,
  ledgerPayment: LedgerPaymentOfBill | undefined,
  bill: StatementBill | undefined,
  differences: readonly ReconciliationDifference[],
): StatementComparison {
  return {
    shop,
    orderId: ledgerPayment?.orderId ?? bill?.orderId ?? null,
    billId: ledgerPayment?.billId ?? listed?.billId ?? null,
    billState: ledgerPayment?.billState ?? bill?.state ?? null,
    ...sideBySide(listed, ledgerPayment, {
      createdAt: ledgerPayment?.createdAtText ?? listed?.createdAt.toISOString() ?? null,
      differences,
    }),
  };
}

async function* batchesOf<T>(all: AsyncIterable<T>): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const item of all) {
    batch.push(item);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
