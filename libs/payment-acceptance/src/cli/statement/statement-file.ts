import { readStatementPayment, type StatementPayment } from '../../operations/statement-payment.js';
import { UsageError } from '../arguments.js';
import type { StatementColumns } from './columns.js';
import { readDelimited, type StatementRecord } from './delimited.js';
import { readJsonArray, readJsonLines } from './json-records.js';
import { readText } from './text-lines.js';

/** A row of a statement that cannot be read as a payment, and why. */
export interface UnreadableRow {
  /** Counted from 1. */
  readonly line: number;
  readonly reason: string;
}

/**
 * Reads the payments of a statement one by one, from CSV, a JSON array, or one JSON object per line.
 * @param timeZone time zone of times without one
 * @param unreadable called for each row that is not a payment
 * @throws UsageError if the file cannot be read, or lacks a column
 */
export async function* readStatement(
  file: string,
  columns: StatementColumns,
  timeZone: string,
  unreadable: (row: UnreadableRow) => void,
): AsyncGenerator<StatementPayment> {
  const reading = { statuses: columns.statuses, timeZone };
  try {
    for await (const record of recordsOf(readText(file), columns)) {
      const payment = 'flaw' in record ? record.flaw : paymentOf(record.fields, columns, reading);
      if (typeof payment === 'string') unreadable({ line: record.line, reason: payment });
      else yield payment;
    }
  } catch (error) {
    throw isOfFile(error) ? new UsageError(`${file}: ${reasonOf(error)}`) : error;
  }
}

function paymentOf(
  record: Readonly<Record<string, unknown>>,
  columns: StatementColumns,
  reading: Parameters<typeof readStatementPayment>[1],
): StatementPayment | string {
  const fields = columns.read(record);
  return typeof fields === 'string' ? fields : readStatementPayment(fields, reading);
}

async function* recordsOf(parts: AsyncGenerator<string>, columns: StatementColumns): AsyncGenerator<StatementRecord> {
  let start = '';
  while (start.trim() === '') {
    const next = await parts.next();
    if (next.done) throw new UsageError('The statement is empty.');
    start += next.value;
  }
  const whole = resumed(start, parts);
  const first = start.trimStart()[0];
  if (first === '[') yield* readJsonArray(whole);
  else if (first === '{') yield* readJsonLines(whole);
  else yield* readDelimited(whole, (names) => columns.checkHeader(names));
}

async function* resumed(start: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield start;
  yield* rest;
}

type Coded = Error & { readonly code?: unknown };

function isOfFile(error: unknown): error is Coded {
  const { code } = error as Coded;
  return (
    error instanceof RangeError ||
    (typeof code === 'string' && /^(E[A-Z]+|ERR_ENCODING_INVALID_ENCODED_DATA)$/.test(code))
  );
}

function reasonOf({ code, message }: Coded): string {
  return code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'It is not UTF-8: save it as UTF-8.' : message;
}
