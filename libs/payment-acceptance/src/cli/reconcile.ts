import type { INestApplicationContext } from '@nestjs/common';
import { shownText } from '../common/text.js';
import { ShopRegistry } from '../config/shop-registry.js';
import {
  PaymentReconciliation,
  type PaymentReconciliationOptions,
} from '../operations/payment-reconciliation.service.js';
import { addToTotals, type ReconciliationTotal, type StatementComparison } from '../operations/reconciliation.js';
import { UsageError, type Arguments } from './arguments.js';
import type { Command } from './commands.js';
import { UnfinishedDocument } from './failure.js';
import { csvLine, jsonText, type Output } from './output.js';
import { counted } from './progress.js';
import { StatementColumns } from './statement/columns.js';
import { readStatement, type UnreadableRow } from './statement/statement-file.js';

/** The columns of the CSV, in their order. */
const COLUMNS: readonly [name: string, value: (row: StatementComparison) => string | null][] = [
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

const UNSEEN =
  'Only bills that are known here were checked. Payments of unknown bills are found only in a statement of the ' +
  "merchant's account: compare one with the ledger with --against FILE.\n";

/** How many unreadable rows a JSON document lists; standard error lists all. */
const MAX_NAMED = 1_000;

/** Totals so far, without the rows. */
class Findings {
  readonly totals = new Map<string, ReconciliationTotal>();
  readonly named: UnreadableRow[] = [];
  rows = 0;
  different = 0;
  unknownBills = 0;
  unreadable = 0;

  add(row: StatementComparison): void {
    this.rows += 1;
    if (row.differences.length > 0) this.different += 1;
    if (row.differences.includes('unknown-bill')) this.unknownBills += 1;
    addToTotals(this.totals, row);
  }

  addUnreadable(row: UnreadableRow): void {
    this.unreadable += 1;
    if (this.named.length < MAX_NAMED) this.named.push(row);
  }
}

/**
 * Streams a day's or a statement's payments as CSV, with the totals on standard error. Exits with 1 on a difference or an
 * unreadable row.
 */
export const reconcile: Command = async (context, given, output) => {
  const { day, against, json = false } = given.values;
  if ((day === undefined) === (against === undefined)) {
    throw new UsageError('Name either a day, --day 2026-11-21, or a statement of the account, --against FILE.');
  }
  const found = new Findings();
  const rows = day === undefined ? ofStatement(context, given, found, output) : ofDay(context, given, day, output);
  const isStatement = day === undefined;
  const written = json
    ? jsonRows(output, isStatement ? { against } : { day }, isStatement)
    : csvRows(output, day ?? against ?? '', isStatement);
  try {
    for await (const row of rows) {
      found.add(row);
      written.write(row);
    }
  } catch (error) {
    throw written.broken(error);
  }
  written.end(found);
  if (day !== undefined) output.err(UNSEEN);
  return found.different + found.unreadable > 0 ? 1 : 0;
};

function ofDay(
  context: INestApplicationContext,
  { values }: Arguments,
  day: string,
  { progress }: Output,
): AsyncIterable<StatementComparison> {
  const { shop, followed = false, column, status } = values;
  if (column !== undefined || status !== undefined) throw new UsageError('--column and --status belong to --against.');
  const onProgress = (asked: number, of: string): void => progress?.(`${shownText(of)}: ${asked} bills asked about`);
  const options: PaymentReconciliationOptions = { day, followed, onProgress, ...(shop !== undefined && { shop }) };
  return context.get(PaymentReconciliation).reconcile(options);
}

async function* ofStatement(
  context: INestApplicationContext,
  { values }: Arguments,
  found: Findings,
  output: Output,
): AsyncGenerator<StatementComparison> {
  const { against = '', column = [], status = [], followed } = values;
  if (followed) throw new UsageError('--followed belongs to --day.');
  const columns = new StatementColumns(column, status);
  const shops = context.get(ShopRegistry);
  const shop = await shops.get(values.shop ?? shops.defaultName);
  const payments = readStatement(against, columns, shop.timeZone, (row) => {
    found.addUnreadable(row);
    output.err(`${shownText(`line ${row.line}: ${row.reason}`)}\n`);
  });
  yield* context.get(PaymentReconciliation).against(counted(payments, output, 'rows of the statement read'), shop.name);
}

/** Writes rows one by one: a statement may have a million. */
interface Rows {
  write(row: StatementComparison): void;
  end(found: Findings): void;
  /** What to throw after an error among the rows. */
  broken(error: unknown): unknown;
}

function csvRows(output: Output, subject: string, isStatement: boolean): Rows {
  let begun = false;
  const begin = (): void => {
    if (!begun) output.out(csvLine(COLUMNS.map(([name]) => name)));
    begun = true;
  };
  return {
    write(row) {
      begin();
      output.out(csvLine(COLUMNS.map(([, value]) => value(row))));
    },
    end(found) {
      begin();
      summarise(output, subject, found, isStatement);
    },
    broken: (error) => error,
  };
}

function jsonRows({ out }: Output, subject: Readonly<Record<string, string | undefined>>, isStatement: boolean): Rows {
  let begun = false;
  const begin = (): void => {
    if (!begun) out(`{\n${jsonText(subject, 2).slice(2, -2)},\n  "rows": [`);
  };
  return {
    write(row) {
      begin();
      out(`${begun ? ',' : ''}\n    ${jsonText(row)}`);
      begun = true;
    },
    end({ different, totals, unknownBills, unreadable, named }) {
      begin();
      const found = { different, ...(isStatement && { unknownBills, unreadable, unreadableRows: named }) };
      out(`${begun ? '\n  ' : ''}],\n${jsonText({ ...found, totals: [...totals.values()] }, 2).slice(2)}\n`);
    },
    broken(error) {
      if (!begun) return error;
      return new UnfinishedDocument(error, (failure) => out(`\n  ],\n${jsonText(failure, 2).slice(2)}\n`));
    },
  };
}

function summarise({ err }: Output, subject: string, found: Findings, isStatement: boolean): void {
  const { rows, different, totals, unknownBills, unreadable } = found;
  err(shownText(`${subject}: ${rows} rows, ${different} with a difference`) + '\n');
  if (isStatement) {
    err(`${unknownBills} payments of bills that are not known here, ${unreadable} rows that cannot be read\n`);
  }
  for (const { currency, serviceAmount, servicePayments, ledgerAmount, ledgerPayments } of totals.values()) {
    const theirs = isStatement ? 'statement' : 'service';
    err(`SUCCESS in ${currency || 'no currency'}: ${theirs} ${serviceAmount} in ${servicePayments} payments, `);
    err(`ledger ${ledgerAmount} in ${ledgerPayments}\n`);
  }
}
