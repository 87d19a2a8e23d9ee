import { instantOfWall } from '../config/time-zone.js';
import type { BillId, OrderId, PaymentId } from '../domain/ids.js';
import { parseAmount, type DecimalAmount } from '../domain/money.js';
import type { PaymentStatus } from '../domain/payment.js';

/** A payment in a statement of the merchant's account. */
export interface StatementPayment {
  readonly paymentId: PaymentId;
  readonly status: PaymentStatus;
  readonly amount: DecimalAmount;
  /** When the service created it, as the statement writes it. */
  readonly createdAtText: string;
  readonly createdAt: Date;
  /** The service's `bill_id`; `null` if the statement has none. */
  readonly billId: BillId | null;
  /** The order that the statement names; for information only. */
  readonly orderId: OrderId | null;
  /** `null` if the statement has none: then it is not compared. */
  readonly currency: string | null;
}

/** A payment's fields as text: the columns of a statement. */
export interface StatementFields {
  readonly payment_id: string;
  readonly status: string;
  readonly amount: string;
  readonly created_at: string;
  readonly bill_id?: string;
  readonly order_id?: string;
  readonly currency?: string;
}

/** How to read the text of a statement. */
export interface StatementReading {
  /** The statement's own names of the statuses, in addition to those of the specification. */
  readonly statuses: ReadonlyMap<string, PaymentStatus>;
  /** The shop's, for times without a zone. */
  readonly timeZone: string;
}

const STATUSES: readonly string[] = ['NEW', 'PROCESS', 'SUCCESS', 'FAIL'] satisfies PaymentStatus[];

/** Returns the payment, or what is wrong with its fields. */
export function readStatementPayment(given: StatementFields, reading: StatementReading): StatementPayment | string {
  const text = (name: keyof StatementFields): string => (given[name] ?? '').trim();
  const flaws: string[] = [];
  const paymentId = text('payment_id');
  if (paymentId === '') flaws.push('payment_id is empty.');
  const status = statusOf(text('status'), reading.statuses);
  if (!status) {
    flaws.push(`status "${brief(text('status'))}" is none of ${STATUSES.join(', ')}: say which with --status.`);
  }
  const amount = amountOf(text('amount'));
  if (amount === null) flaws.push(`amount "${brief(text('amount'))}" is no decimal with two places.`);
  const createdAt = statementInstant(text('created_at'), reading.timeZone);
  if (!createdAt) flaws.push(`created_at "${brief(text('created_at'))}" is no date with a time.`);
  if (given.currency !== undefined && !/^[A-Za-z]{3}$/.test(text('currency'))) {
    flaws.push(`currency "${brief(text('currency'))}" is not three letters.`);
  }
  if (flaws.length > 0 || !status || amount === null || !createdAt) return flaws.join(' ');
  return {
    paymentId,
    status,
    amount,
    createdAtText: text('created_at'),
    createdAt,
    billId: text('bill_id') || null,
    orderId: text('order_id') || null,
    currency: text('currency').toUpperCase() || null,
  };
}

function statusOf(text: string, own: StatementReading['statuses']): PaymentStatus | undefined {
  const mapped = own.get(text);
  if (mapped) return mapped;
  const upper = text.toUpperCase();
  return STATUSES.includes(upper) ? (upper as PaymentStatus) : undefined;
}

/**
 * An exact amount with a decimal point or comma, with or without thousands separators. A single comma before three digits
 * means different things in different countries, so such a text is refused.
 */
function amountOf(text: string): DecimalAmount | null {
  const plain = text.replace(/(?<=\d)[ \u00a0\u202f'\u2019](?=\d{3}(?!\d))/g, '');
  if (/^[+-]?\d{1,3}(,\d{3})+\.\d+$/.test(plain)) return parseAmount(plain.replaceAll(',', ''));
  if (/^[+-]?\d{1,3}(\.\d{3})+,\d+$/.test(plain)) return parseAmount(plain.replaceAll('.', '').replace(',', '.'));
  if (/^[+-]?\d+,\d{1,2}$/.test(plain)) return parseAmount(plain.replace(',', '.'));
  return parseAmount(plain);
}

/** ISO 8601, the service's `Y-m-d H:i:s`, or `d.m.Y H:i:s`. */
const ISO = /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)? ?(Z|[+-]\d{2}:?\d{2})?$/i;
const DOTTED = /^(\d{2})\.(\d{2})\.(\d{4}),? (\d{2}):(\d{2})(?::(\d{2}))?()$/;

/** A statement's time as an instant; a time without a zone is on the wall clock of `timeZone`. */
export function statementInstant(text: string, timeZone: string): Date | undefined {
  const dotted = DOTTED.exec(text);
  const match = dotted ? [text, dotted[3], dotted[2], dotted[1], ...dotted.slice(4)] : ISO.exec(text);
  if (!match) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map((part) => Number(part ?? 0));
  const wall = Date.UTC(year, month - 1, day, hour, minute, second);
  const date = new Date(wall);
  // Date.UTC reads 31 April as 1 May.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day || date.getUTCHours() !== hour) return undefined;
  const zone = match[7];
  if (!zone) return instantOfWall(timeZone, wall);
  if (/z/i.test(zone)) return date;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2));
  return new Date(wall - (zone.startsWith('-') ? -1 : 1) * minutes * 60_000);
}

function brief(text: string): string {
  return text.slice(0, 40);
}
