import type { BillState } from '../domain/bill.js';
import { addAmounts, type DecimalAmount } from '../domain/money.js';
import type { PaymentStatus, ReportedPayment } from '../domain/payment.js';
import type { BillToReconcile, PaymentToReconcile } from '../storage/reconciliation.store.js';
import type { BillId, OrderId, PaymentId } from '../domain/ids.js';

/** In what the service's list and the ledger do not agree. */
export type ReconciliationDifference =
  /** The service lists the payment, the ledger does not have it. */
  | 'missing-in-ledger'
  /** The ledger has the payment, the service does not list it. */
  | 'missing-at-service'
  /** The service says that it is a payment of another bill. */
  | 'other-bill'
  | 'status'
  | 'amount'
  | 'currency'
  /** The ledger calls it succeeded, and there is no `payment.succeeded`. */
  | 'event-missing'
  /** The service gave no answer about the bill. */
  | 'not-answered'
  /** Against a statement: the bill of a payment that the ledger does not have is not known here at all. */
  | 'unknown-bill'
  /** Against a statement: the ledger has a payment of its span of time that it does not list. */
  | 'missing-in-statement'
  /** Against a statement: it lists the payment more than once. */
  | 'listed-twice';

/** One payment, at the service and in the ledger; or a bill about which the service gave no answer. */
export interface ReconciledPayment {
  readonly shop: string;
  readonly orderId: OrderId;
  /** The service's `bill_id`. */
  readonly billId: BillId;
  readonly billState: BillState;
  /** `null` where the row is about the bill as a whole. */
  readonly paymentId: PaymentId | null;
  /** The service's `created_at`, on its wall clock. */
  readonly createdAt: string | null;
  /** When the ledger came to know the payment: ISO 8601, UTC. */
  readonly firstSeenAt: string | null;
  readonly serviceStatus: PaymentStatus | null;
  readonly ledgerStatus: PaymentStatus | null;
  readonly serviceAmount: DecimalAmount | null;
  readonly ledgerAmount: DecimalAmount | null;
  readonly serviceCurrency: string | null;
  readonly ledgerCurrency: string | null;
  /** What the ledger made of it: `pending`, `failed`, `succeeded` or `review`. */
  readonly verdict: string | null;
  /** Empty where both agree. */
  readonly differences: readonly ReconciliationDifference[];
  /** Code of the error, where the service gave no answer. */
  readonly error: string | null;
}

/** One payment, in a statement and in the ledger: `service…` is what the statement says. */
export interface StatementComparison extends Omit<ReconciledPayment, 'orderId' | 'billId' | 'billState'> {
  /** The order of our bill; where that is not known the one that the statement names, from which nothing follows. */
  readonly orderId: OrderId | null;
  /** The service's `bill_id`. */
  readonly billId: BillId | null;
  /** `null` where the bill is not known here. */
  readonly billState: BillState | null;
}

/** Sums of SUCCESS payments in one currency; exact. */
export interface ReconciliationTotal {
  readonly currency: string;
  readonly servicePayments: number;
  readonly serviceAmount: DecimalAmount;
  readonly ledgerPayments: number;
  readonly ledgerAmount: DecimalAmount;
}

/**
 * Whether a payment was made on that day (`YYYY-MM-DD`): by the service's `created_at`, else by when the ledger came to
 * know it, which lies in the span of instants; one of which neither is known is on every day.
 */
export function isOfDay(
  row: ReconciledPayment,
  day: string,
  span: { readonly from: Date; readonly to: Date },
): boolean {
  const created = /^\d{4}-\d{2}-\d{2}/.exec(row.createdAt ?? '')?.[0];
  if (created !== undefined) return created === day;
  if (row.firstSeenAt === null) return true;
  const seen = Date.parse(row.firstSeenAt);
  return seen >= span.from.getTime() && seen < span.to.getTime();
}

/** Holds the service's list of a bill against the ledger: one row for each payment that either has. Pure. */
export function comparePayments(
  shop: string,
  bill: BillToReconcile,
  listed: readonly ReportedPayment[],
  ledger: readonly PaymentToReconcile[],
): ReconciledPayment[] {
  const own = new Map(ledger.map((payment) => [payment.paymentId, payment]));
  const theirs = new Map(listed.map((payment) => [payment.paymentId, payment]));
  return [...new Set([...theirs.keys(), ...own.keys()])].map((paymentId) => {
    const [service, kept] = [theirs.get(paymentId), own.get(paymentId)];
    return {
      ...rowOf(shop, bill),
      paymentId,
      createdAt: service?.createdAtText ?? kept?.createdAtText ?? null,
      firstSeenAt: kept?.firstSeenAt.toISOString() ?? null,
      serviceStatus: service?.status ?? null,
      ledgerStatus: kept?.status ?? null,
      serviceAmount: service?.amount ?? null,
      ledgerAmount: kept?.amount ?? null,
      serviceCurrency: service?.currency ?? null,
      ledgerCurrency: kept?.currency ?? null,
      verdict: kept?.verdict ?? null,
      differences: differencesOf(bill, service, kept),
    };
  });
}

/** The row of a bill about which the service gave no answer. */
export function notAnswered(shop: string, bill: BillToReconcile, error: string): ReconciledPayment {
  return { ...rowOf(shop, bill), differences: ['not-answered'], error };
}

/** Adds a row to the totals of its currencies. */
export function addToTotals(totals: Map<string, ReconciliationTotal>, row: StatementComparison): void {
  const of = (currency: string): ReconciliationTotal =>
    totals.get(currency) ?? {
      currency,
      servicePayments: 0,
      serviceAmount: '0.00',
      ledgerPayments: 0,
      ledgerAmount: '0.00',
    };
  const counted = row.differences.includes('other-bill') || row.differences.includes('listed-twice');
  if (row.serviceStatus === 'SUCCESS' && row.serviceAmount !== null && !counted) {
    const total = of(row.serviceCurrency ?? '');
    const serviceAmount = addAmounts(total.serviceAmount, row.serviceAmount);
    totals.set(total.currency, { ...total, servicePayments: total.servicePayments + 1, serviceAmount });
  }
  if (row.ledgerStatus === 'SUCCESS' && row.ledgerAmount !== null && !row.differences.includes('listed-twice')) {
    const total = of(row.ledgerCurrency ?? '');
    const ledgerAmount = addAmounts(total.ledgerAmount, row.ledgerAmount);
    totals.set(total.currency, { ...total, ledgerPayments: total.ledgerPayments + 1, ledgerAmount });
  }
}

function differencesOf(
  bill: BillToReconcile,
  service: ReportedPayment | undefined,
  kept: PaymentToReconcile | undefined,
): ReconciliationDifference[] {
  if (!service) return ['missing-at-service'];
  if (service.billId !== null && service.billId !== bill.billId) return ['other-bill'];
  if (!kept) return ['missing-in-ledger'];
  const found: [ReconciliationDifference, boolean][] = [
    ['status', service.status !== kept.status],
    ['amount', service.amount !== kept.amount],
    ['currency', service.currency !== kept.currency],
    ['event-missing', kept.verdict === 'succeeded' && !kept.succeeded],
  ];
  return found.filter(([, differs]) => differs).map(([difference]) => difference);
}

function rowOf(shop: string, { orderId, billId, state }: BillToReconcile): ReconciledPayment {
  return {
    shop,
    orderId,
    billId,
    billState: state,
    paymentId: null,
    createdAt: null,
    firstSeenAt: null,
    serviceStatus: null,
    ledgerStatus: null,
    serviceAmount: null,
    ledgerAmount: null,
    serviceCurrency: null,
    ledgerCurrency: null,
    verdict: null,
    differences: [],
    error: null,
  };
}
