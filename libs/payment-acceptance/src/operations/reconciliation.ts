import type { BillState } from '../domain/bill.js';
import { sortPayments } from '../domain/decide.js';
import { addAmounts, type DecimalAmount } from '../domain/money.js';
import type { PaymentStatus, ReportedPayment } from '../domain/payment.js';
import type { BillToReconcile, PaymentToReconcile } from './storage/reconciliation.store.js';
import type { BillId, OrderId, PaymentId } from '../domain/ids.js';

/** How the service's list and the ledger differ. */
export type ReconciliationDifference =
  /** The service lists the payment, but the ledger does not have it. */
  | 'missing-in-ledger'
  /** The ledger has the payment, but the service does not list it. */
  | 'missing-at-service'
  /** The service says that the payment belongs to another bill. */
  | 'other-bill'
  /** Also if both say FAIL of a payment that an operator has accepted. */
  | 'status'
  | 'amount'
  | 'currency'
  /** The payment has succeeded in the ledger, but there is no `payment.succeeded`. */
  | 'event-missing'
  /** The service did not answer about the bill, or not in full. */
  | 'not-answered'
  /** Statement only: the ledger does not have the payment, and its bill is not known here either. */
  | 'unknown-bill'
  /** Statement only: the ledger has a payment that the statement should list but does not. */
  | 'missing-in-statement'
  /** Statement only: it lists the payment more than once. */
  | 'listed-twice';

/** One payment, at the service and in the ledger; or a bill about which the service did not answer. */
export interface ReconciledPayment {
  readonly shop: string;
  readonly orderId: OrderId;
  /** The service's `bill_id`. */
  readonly billId: BillId;
  readonly billState: BillState;
  /** `null` if the row is about the bill as a whole. */
  readonly paymentId: PaymentId | null;
  /** The service's `created_at`, on its wall clock. */
  readonly createdAt: string | null;
  /** When the payment was first seen: ISO 8601, UTC. */
  readonly firstSeenAt: string | null;
  readonly serviceStatus: PaymentStatus | null;
  readonly ledgerStatus: PaymentStatus | null;
  readonly serviceAmount: DecimalAmount | null;
  readonly ledgerAmount: DecimalAmount | null;
  readonly serviceCurrency: string | null;
  readonly ledgerCurrency: string | null;
  /** The ledger's verdict: `pending`, `failed`, `succeeded` or `review`. */
  readonly verdict: string | null;
  /** Empty if both agree. */
  readonly differences: readonly ReconciliationDifference[];
  /** The error's code, if the service did not answer. */
  readonly error: string | null;
}

/** One payment, in a statement and in the ledger; the `service…` fields are the statement's. */
export interface StatementComparison extends Omit<ReconciledPayment, 'orderId' | 'billId' | 'billState'> {
  /** `null` if the bill is not known here. */
  readonly orderId: OrderId | null;
  /** The service's `bill_id`. */
  readonly billId: BillId | null;
  /** `null` if the bill is not known here. */
  readonly billState: BillState | null;
}

/** Exact sums of SUCCESS payments in one currency; the ledger's sums include payments that an operator accepted. */
export interface ReconciliationTotal {
  readonly currency: string;
  readonly servicePayments: number;
  readonly serviceAmount: DecimalAmount;
  readonly ledgerPayments: number;
  readonly ledgerAmount: DecimalAmount;
}

/**
 * Uses the service's `created_at`, or, without it, whether the payment was first seen within `span`. A row with neither
 * time counts for every day.
 * @param day `YYYY-MM-DD`, on the service's wall clock
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

/**
 * Returns one row for each payment that the service or the ledger has.
 * @param isWhole whether `listed` is everything that the service lists
 */
export function comparePayments(
  shop: string,
  bill: BillToReconcile,
  listed: readonly ReportedPayment[],
  ledger: readonly PaymentToReconcile[],
  isWhole = true,
): ReconciledPayment[] {
  const ledgerById = new Map(ledger.map((payment) => [payment.paymentId, payment]));
  // Of entries of the same payment, the last in this order is the one that settles.
  const listedById = new Map(sortPayments(listed).map((payment) => [payment.paymentId, payment]));
  return [...new Set([...listedById.keys(), ...ledgerById.keys()])].map((paymentId) => {
    const [service, ledgerPayment] = [listedById.get(paymentId), ledgerById.get(paymentId)];
    return {
      ...namesOf(shop, bill),
      ...sideBySide(service, ledgerPayment, {
        createdAt: service?.createdAtText ?? ledgerPayment?.createdAtText ?? null,
        differences: service || isWhole ? differencesOf(bill, service, ledgerPayment) : ['not-answered'],
      }),
    };
  });
}

/** The row of a bill about which the service did not answer, or not in full. */
export function unansweredBill(shop: string, bill: BillToReconcile, error: string): ReconciledPayment {
  return {
    ...namesOf(shop, bill),
    ...sideBySide(undefined, undefined, { createdAt: null, differences: ['not-answered'], error }),
  };
}

/**
 * @param isStatement whether the row is of a statement, which lists a payment only once even if the ledger has it under
 *   another bill
 */
export function addToTotals(
  totals: Map<string, ReconciliationTotal>,
  row: StatementComparison,
  isStatement = false,
): void {
  const totalOf = (currency: string): ReconciliationTotal =>
    totals.get(currency) ?? {
      currency,
      servicePayments: 0,
      serviceAmount: '0.00',
      ledgerPayments: 0,
      ledgerAmount: '0.00',
    };
  const counted = (!isStatement && row.differences.includes('other-bill')) || row.differences.includes('listed-twice');
  if (row.serviceStatus === 'SUCCESS' && row.serviceAmount !== null && !counted) {
    // A statement may have no currencies.
    const total = totalOf(row.serviceCurrency ?? (isStatement ? row.ledgerCurrency : null) ?? '');
    const serviceAmount = addAmounts(total.serviceAmount, row.serviceAmount);
    totals.set(total.currency, { ...total, servicePayments: total.servicePayments + 1, serviceAmount });
  }
  const isPaid = row.ledgerStatus === 'SUCCESS' || row.verdict === 'succeeded';
  if (isPaid && row.ledgerAmount !== null && !row.differences.includes('listed-twice')) {
    const total = totalOf(row.ledgerCurrency ?? '');
    const ledgerAmount = addAmounts(total.ledgerAmount, row.ledgerAmount);
    totals.set(total.currency, { ...total, ledgerPayments: total.ledgerPayments + 1, ledgerAmount });
  }
}

function differencesOf(
  bill: BillToReconcile,
  service: ReportedPayment | undefined,
  ledgerPayment: PaymentToReconcile | undefined,
): ReconciliationDifference[] {
  if (!service) return ['missing-at-service'];
  if (service.billId !== null && service.billId !== bill.billId) return ['other-bill'];
  return ledgerPayment ? differencesBetween(service, ledgerPayment) : ['missing-in-ledger'];
}

export function differencesBetween(
  listed: Pick<ReportedPayment, 'status' | 'amount' | 'currency'>,
  ledgerPayment: PaymentToReconcile,
): ReconciliationDifference[] {
  const isCounted = ledgerPayment.verdict === 'succeeded';
  const comparisons: [ReconciliationDifference, boolean][] = [
    // An operator may have accepted a payment of which both now say FAIL.
    ['status', listed.status !== ledgerPayment.status || (listed.status === 'FAIL' && isCounted)],
    ['amount', listed.amount !== ledgerPayment.amount],
    ['currency', listed.currency !== ledgerPayment.currency],
    ['event-missing', isCounted && !ledgerPayment.succeeded],
  ];
  return comparisons.filter(([, differs]) => differs).map(([difference]) => difference);
}

function namesOf(shop: string, { orderId, billId, state: billState }: BillToReconcile) {
  return { shop, orderId, billId, billState };
}

export function sideBySide(
  listed: Pick<ReportedPayment, 'paymentId' | 'status' | 'amount' | 'currency'> | undefined,
  ledgerPayment: PaymentToReconcile | undefined,
  {
    createdAt,
    differences,
    error = null,
  }: Pick<ReconciledPayment, 'createdAt' | 'differences'> & { error?: string | null },
) {
  return {
    paymentId: listed?.paymentId ?? ledgerPayment?.paymentId ?? null,
    createdAt,
    firstSeenAt: ledgerPayment?.firstSeenAt.toISOString() ?? null,
    serviceStatus: listed?.status ?? null,
    ledgerStatus: ledgerPayment?.status ?? null,
    serviceAmount: listed?.amount ?? null,
    ledgerAmount: ledgerPayment?.amount ?? null,
    serviceCurrency: listed?.currency ?? null,
    ledgerCurrency: ledgerPayment?.currency ?? null,
    verdict: ledgerPayment?.verdict ?? null,
    differences,
    error,
  };
}
