import { open, type FileHandle } from 'node:fs/promises';
import { maskCards } from '../common/redact.js';
import { serviceInstant } from '../config/time-zone.js';
import { parseAmount } from '../domain/money.js';
import { statusOf } from '../domain/payment.js';
import type { StatementPayment } from '../operations/statement.js';
import { UsageError } from './arguments.js';

export interface UnreadableLine {
  /** Counted from 1. */
  readonly line: number;
  readonly reason: string;
}

export const STATEMENT_HEADER = 'payment_id,bill_id,status,amount,currency,created_at';

/**
 * Reads CSV with the columns of {@link STATEMENT_HEADER}, in this order.
 * @param timeZone time zone for times that state none
 * @param unreadable called for each line that cannot be read as a payment
 * @throws UsageError if the file cannot be read, is empty, or has other columns
 */
export async function* readStatement(
  file: string,
  timeZone: string,
  unreadable: (line: UnreadableLine) => void,
): AsyncGenerator<StatementPayment> {
  let line = 0;
  for await (const text of (await openStatement(file)).readLines()) {
    line += 1;
    const values = valuesOf(text.replace(/^\uFEFF/, ''));
    if (line === 1) {
      if (values.join(',') === STATEMENT_HEADER) continue;
      throw new UsageError(`${file}: the first line of a statement must be ${STATEMENT_HEADER}`);
    }
    if (text.trim() === '') continue;
    const payment = paymentOf(values, timeZone);
    if (typeof payment === 'string') unreadable({ line, reason: payment });
    else yield payment;
  }
  if (line === 0) throw new UsageError(`${file}: the statement is empty.`);
}

/** @throws UsageError */
export async function openStatement(file: string): Promise<FileHandle> {
  try {
    const handle = await open(file);
    if (!(await handle.stat()).isDirectory()) return handle;
    await handle.close();
    throw new Error('it is a folder.');
  } catch (error) {
    throw new UsageError(`${file}: ${(error as Error).message}`);
  }
}

/** Fields may have quotes (RFC 4180), but no line breaks. Empty if the quotes do not match. */
function valuesOf(line: string): string[] {
  const fields = [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,"]*))/g)];
  if (fields.map(([field]) => field).join('') !== line) return [];
  return fields.map(([, quoted, plain = '']) => (quoted?.replaceAll('""', '"') ?? plain).trim());
}

/** Returns the payment, or what is wrong with it. */
function paymentOf(values: readonly string[], timeZone: string): StatementPayment | string {
  const [paymentId = '', billId = '', statusText = '', amountText = '', currency = '', createdAtText = ''] = values;
  const status = statusOf(statusText.toUpperCase());
  const amount = parseAmount(amountText);
  const createdAt = serviceInstant(createdAtText, timeZone);
  const problems: string[] = [];
  if (values.length !== 6) problems.push(`It has ${values.length} fields, but the header has 6.`);
  if (paymentId === '') problems.push('payment_id is empty.');
  if (status === 'UNKNOWN') problems.push(`status "${shorten(statusText)}" is not one of NEW, PROCESS, SUCCESS, FAIL.`);
  if (amount === null)
    problems.push(
      `amount "${shorten(amountText)}" is not a decimal with a point, at most eight digits before it and two after it.`,
    );
  if (!/^([A-Z]{3})?$/.test(currency)) problems.push(`currency "${shorten(currency)}" is not three capital letters.`);
  if (!createdAt) problems.push(`created_at "${shorten(createdAtText)}" is not a time such as 2026-11-21 12:00:00.`);
  if (problems.length > 0 || amount === null || !createdAt) return problems.join(' ');
  return {
    paymentId,
    billId: billId || null,
    status,
    amount,
    currency: currency || null,
    createdAt,
  };
}

function shorten(text: string): string {
  return maskCards(text).slice(0, 40);
}
