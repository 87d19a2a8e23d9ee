import type { INestApplicationContext } from '@nestjs/common';
import { shownText } from '../common/text.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { isDay } from '../config/time-zone.js';
import { PaymentReconciliation } from '../operations/payment-reconciliation.service.js';
import { PaymentReconciliationIncompleteError } from '../operations/operator.errors.js';
import { addToTotals, type ReconciliationTotal, type StatementComparison } from '../operations/reconciliation.js';
import { UsageError, type Arguments } from './arguments.js';
import type { Command } from './commands.js';
import { csvLine, jsonText, type Output } from './output.js';
import { readStatement, type UnreadableLine } from './statement-file.js';

/** The columns appear in the CSV in this order. */
const COLUMNS = {
  shop: 'shop',
  order_id: 'orderId',
  bill_id: 'billId',
  bill_state: 'billState',
  payment_id: 'paymentId',
  created_at: 'createdAt',
  first_seen_at: 'firstSeenAt',
  service_status: 'serviceStatus',
  ledger_status: 'ledgerStatus',
  service_amount: 'serviceAmount',
  ledger_amount: 'ledgerAmount',
  service_currency: 'serviceCurrency',
  ledger_currency: 'ledgerCurrency',
  verdict: 'verdict',
  differences: 'differences',
  error: 'error',
} as const satisfies Record<string, keyof StatementComparison>;

function lineOf(row: StatementComparison): string {
  const fields = { ...row, differences: row.differences.join(' ') };
  return csvLine(Object.values(COLUMNS).map((name) => fields[name]));
}

/**
 * Prints the payments as CSV row by row, with the totals on standard error. Exits with 1 if there is a difference, an
 * unreadable line, a statement without payments, or a shop that could not be reconciled.
 */
export const reconcile: Command = async (context, invocation, output) => {
  const { day, against, followed = false, shop, json = false } = invocation.values;
  if ((day === undefined) === (against === undefined)) {
    throw new UsageError('Specify either a day, --day 2026-11-21, or an account statement, --against FILE.');
  }
  if (day !== undefined && !isDay(day))
    throw new UsageError(`--day: must be a date such as 2026-11-21, not "${shownText(day)}".`);
  const unreadable: UnreadableLine[] = [];
  const compared =
    day === undefined
      ? compareFile(context, invocation, unreadable, output)
      : context.get(PaymentReconciliation).reconcile({ day, followed, ...(shop !== undefined && { shop }) });
  /**
   * JSON rows are printed only after all have been read, because the document of an error has no rows. They are printed
   * one by one, because a million rows do not fit into one string.
   */
  const rows: string[] = [];
  const totals = new Map<string, ReconciliationTotal>();
  const count = { rows: 0, different: 0, unknownBills: 0 };
  let failed: PaymentReconciliationIncompleteError['failed'] = [];
  try {
    for await (const row of compared) {
      if (json) rows.push(jsonText(row));
      else output.out((count.rows === 0 ? HEADER : '') + lineOf(row));
      count.rows += 1;
      if (row.differences.length > 0) count.different += 1;
      if (row.differences.includes('unknown-bill') && !row.differences.includes('listed-twice'))
        count.unknownBills += 1;
      addToTotals(totals, row, day === undefined);
    }
  } catch (error) {
    if (!(error instanceof PaymentReconciliationIncompleteError)) throw error;
    ({ failed } = error);
    output.err(`${shownText(error.message)}\n`);
  }
  const { different, unknownBills } = count;
  if (json) {
    const ofStatement = {
      unknownBills,
      unreadable: unreadable.length,
      unreadableRows: unreadable.slice(0, MAX_LISTED_LINES),
    };
    const sums = { different, ...(day ? { failed } : ofStatement), totals: [...totals.values()] };
    output.out(`${jsonText(day === undefined ? { against } : { day }).slice(0, -1)},"rows":[`);
    rows.forEach((row, index) => output.out(`${index === 0 ? '' : ','}\n${row}`));
    output.out(`\n],${jsonText(sums).slice(1)}\n`);
  } else {
    if (count.rows === 0) output.out(HEADER);
    output.err(`${shownText(day ?? against ?? '')}: ${count.rows} rows, ${different} with a difference\n`);
    if (!day) {
      output.err(`payments of bills not known here: ${unknownBills}; unreadable lines: ${unreadable.length}\n`);
    }
    printTotals(totals.values(), day ? 'service' : 'statement', output);
  }
  if (day !== undefined) output.err(ONLY_KNOWN_BILLS_NOTE);
  // Nothing was compared, as with the statement of a wrong period.
  const isEmpty = day === undefined && count.rows === 0;
  if (isEmpty) output.err('The statement has no payments.\n');
  return isEmpty || different + unreadable.length + failed.length > 0 ? 1 : 0;
};

const HEADER = csvLine(Object.keys(COLUMNS));

const ONLY_KNOWN_BILLS_NOTE =
  'Only bills known here were checked. Payments of unknown bills are found only in a statement of the ' +
  "merchant's account: compare one against the ledger with --against FILE.\n";

/** How many unreadable lines a JSON document lists; standard error lists all. */
const MAX_LISTED_LINES = 1_000;

async function* compareFile(
  context: INestApplicationContext,
  { values }: Arguments,
  unreadable: UnreadableLine[],
  { err }: Output,
): AsyncGenerator<StatementComparison> {
  if (values.followed) throw new UsageError('--followed requires --day.');
  const shops = context.get(ShopRegistry);
  const shop = await shops.get(values.shop ?? shops.defaultName);
  const payments = readStatement(values.against ?? '', shop.timeZone, (line) => {
    unreadable.push(line);
    err(`${shownText(`line ${line.line}: ${line.reason}`)}\n`);
  });
  yield* context.get(PaymentReconciliation).compareStatement(payments, shop.name);
}

function printTotals(totals: Iterable<ReconciliationTotal>, sourceName: string, { err }: Output): void {
  for (const { currency, serviceAmount, servicePayments, ledgerAmount, ledgerPayments } of totals) {
    err(`SUCCESS in ${currency || 'no currency'}: ${sourceName} ${serviceAmount} (payments: ${servicePayments}), `);
    err(`ledger ${ledgerAmount} (payments: ${ledgerPayments})\n`);
  }
}
