import { PaymentReconciliation, type ReconciliationOptions } from '../operations/payment-reconciliation.service.js';
import { addToTotals, type ReconciledPayment, type ReconciliationTotal } from '../operations/reconciliation.js';
import { UsageError } from './arguments.js';
import type { Command } from './commands.js';
import { csvLine, printJson, type Output } from './output.js';

/** The columns of the CSV, in their order. */
const COLUMNS: readonly [name: string, value: (row: ReconciledPayment) => string | null][] = [
  ['shop', ({ shop }) => shop],
  ['order_id', ({ orderId }) => orderId],
  ['bill_id', ({ billId }) => billId],
  ['bill_state', ({ billState }) => billState],
  ['payment_id', ({ paymentId }) => paymentId],
  ['created_at', ({ createdAt }) => createdAt],
  ['first_seen_at', ({ firstSeenAt }) => firstSeenAt],
  ['service_status', ({ serviceStatus }) => serviceStatus],
  ['ledger_status', ({ ledgerStatus }) => ledgerStatus],
  ['service_amount', ({ serviceAmount }) => serviceAmount],
  ['ledger_amount', ({ ledgerAmount }) => ledgerAmount],
  ['service_currency', ({ serviceCurrency }) => serviceCurrency],
  ['ledger_currency', ({ ledgerCurrency }) => ledgerCurrency],
  ['verdict', ({ verdict }) => verdict],
  ['differences', ({ differences }) => differences.join(' ')],
  ['error', ({ error }) => error],
];

/** A day's payments as CSV, written as they come, with the sums on the other stream; 1 on a difference. */
export const reconcile: Command = async (context, { values }, output) => {
  const { day, shop, followed = false, json = false } = values;
  if (day === undefined) throw new UsageError('Say which day: --day 2026-11-21.');
  const options: ReconciliationOptions = { day, followed, ...(shop !== undefined && { shop }) };
  const rows: ReconciledPayment[] = [];
  const totals = new Map<string, ReconciliationTotal>();
  let [payments, different] = [0, 0];
  if (!json) output.out(csvLine(COLUMNS.map(([name]) => name)));
  for await (const row of context.get(PaymentReconciliation).reconcile(options)) {
    payments += 1;
    if (row.differences.length > 0) different += 1;
    addToTotals(totals, row);
    if (json) rows.push(row);
    else output.out(csvLine(COLUMNS.map(([, value]) => value(row))));
  }
  if (json) printJson(output, { day, different, totals: [...totals.values()], rows });
  else summarise(output, day, payments, different, [...totals.values()]);
  return different > 0 ? 1 : 0;
};

function summarise(
  { err }: Output,
  day: string,
  rows: number,
  different: number,
  totals: readonly ReconciliationTotal[],
): void {
  err(`${day}: ${rows} rows, ${different} with a difference\n`);
  for (const { currency, serviceAmount, servicePayments, ledgerAmount, ledgerPayments } of totals) {
    err(`SUCCESS in ${currency || 'no currency'}: service ${serviceAmount} in ${servicePayments} payments, `);
    err(`ledger ${ledgerAmount} in ${ledgerPayments}\n`);
  }
}
