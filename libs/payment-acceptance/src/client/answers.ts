import { isRecord } from '../common/objects.js';
import { parse } from 'lossless-json';
import { maskCards, maskedLine } from '../common/redact.js';
import { cleanLine } from '../common/text.js';
import { parseAmount, type DecimalAmount } from '../domain/money.js';
import { isServiceId, type BillId, type PaymentId } from '../domain/ids.js';
import { statusOf, type PaymentList, type ReportedPayment } from '../domain/payment.js';
import { webAddress } from '../common/web-address.js';
import { serviceInstant } from '../config/time-zone.js';

/** The answer to bill creation (section 2.2). Addresses are `null` if missing or not http(s). */
export interface CreatedBill {
  readonly billId: BillId;
  readonly linkUrl: string | null;
  readonly linkPageUrl: string | null;
}

/** Says what is wrong with an answer; the caller turns it into a typed error. */
export class AnswerProblem extends Error {}

/** How many characters of an error are read: a longer text would hold up everything else. */
export const MAX_ERROR_TEXT = 16_384;

/** How many characters of an error that is not JSON are searched for a message. */
const MAX_PLAIN_TEXT = 4_096;

type Fields = Readonly<Record<string, unknown>>;

/** Numbers stay the text they were sent as, so that `100.00` and `12345678.90` keep every digit. */
export function parseAnswer(text: string): Fields | undefined {
  try {
    const value: unknown = parse(text.replace(/^\uFEFF/, ''), undefined, { parseNumber: (digits) => digits });
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** `success` is a boolean in one answer and the string `true` in the other (section 2.2, documented). */
export function isSuccess(fields: Fields): boolean {
  return fields.success === true || (typeof fields.success === 'string' && /^(true|1)$/i.test(fields.success));
}

export function readCreatedBill(fields: Fields): CreatedBill {
  const billId = readId(fields.bill_id);
  if (billId === null) throw new AnswerProblem('bill_id is missing');
  // Any host is accepted, private ones included: only the payer goes there, we send no request.
  return { billId, linkUrl: webAddress(fields.link_url), linkPageUrl: webAddress(fields.link_page_url) };
}

/** @throws AnswerProblem for the first entry that cannot be read */
export function readPayments(fields: Fields, timeZone: string): ReportedPayment[] {
  const { payments, problems } = readPaymentList(fields, timeZone);
  if (problems[0] !== undefined) throw new AnswerProblem(problems[0]);
  return [...payments];
}

/**
 * An unreadable entry does not hide the others.
 * @throws AnswerProblem if there is no list
 */
export function readPaymentList(fields: Fields, timeZone: string): PaymentList {
  const data = listOf(fields.data);
  if (!Array.isArray(data)) throw new AnswerProblem('data is not a list');
  const payments: ReportedPayment[] = [];
  const problems: string[] = [];
  for (const [index, item] of (data as unknown[]).entries()) {
    const paymentId = isRecord(item) ? readId(item.id) : null;
    if (!isRecord(item)) problems.push(`data[${index}] is not an object`);
    else if (paymentId === null) problems.push(`data[${index}].id is missing`);
    else if (hasInvalidBillId(item)) problems.push(`data[${index}].bill_id is not an id`);
    else payments.push(readPayment(paymentId, item, timeZone));
  }
  return { payments, problems };
}

/** Some serializers write an empty list as `null`; PHP writes a list with gaps, or an empty one, as an object (assumed). */
export function listOf(data: unknown): unknown {
  if (data === null) return [];
  return isRecord(data) && Object.keys(data).every((name) => /^\d+$/.test(name)) ? Object.values(data) : data;
}

/** Whether the entry names a bill in a form that cannot be compared with ours. */
function hasInvalidBillId({ bill_id: value }: Fields): boolean {
  return value !== undefined && value !== null && value !== '' && readId(value) === null;
}

/** The fields, besides the answer itself, in which other services' lists describe their pages. */
const PAGING_FIELDS = ['meta', 'pagination', 'paging', 'links', '_links'];

/**
 * The next page of a list of payments (not shown in section 4.2; assumed, after what other services publish): its query
 * without the bill's id; `null` if there is a next page but nothing leads to it; `undefined` on the last page. A page
 * at another host or path is not requested, since the request carries the token.
 * @param pageUrl the address of this page
 */
export function nextPage(fields: Fields, pageUrl: URL): string | null | undefined {
  const places = placesOf(fields, 3);
  const first = (...names: string[]): unknown =>
    names.flatMap((name) => places.map((place) => place[name])).find((value) => value !== undefined && value !== null);
  const moreFlag = String(first('has_more', 'hasMore', 'has_next', 'hasNext', 'has_next_page', 'hasNextPage'));
  if (/^(false|0)$/i.test(moreFlag)) return undefined;
  const cursor = first('next_cursor', 'nextCursor');
  if (typeof cursor === 'string' && !/^0?$/.test(cursor)) return queryOf(pageUrl, { cursor });
  const next = first('next_page_url', 'next_url', 'next');
  const address = isRecord(next) ? next.href : next;
  if (typeof address === 'string' && address !== '') return sameHost(address, pageUrl);
  const token = first('next_page_token', 'nextPageToken');
  const number = (...names: string[]): number => Number(first(...names) ?? NaN);
  // The first page may have the number 1, 0 or none.
  const page = number('current_page', 'page') || 1;
  const total = number('total', 'total_count', 'totalCount');
  const offset = number('offset', 'skip');
  const size = number('per_page', 'perPage', 'page_size', 'pageSize');
  const read = Number.isNaN(offset)
    ? page * size
    : offset + number('limit', 'per_page', 'perPage', 'page_size', 'pageSize');
  const entries = listOf(fields.data);
  const isWhole = Array.isArray(entries) && entries.length >= total;
  const hasNextPage =
    /^(true|1)$/i.test(moreFlag) ||
    (typeof token === 'string' && token !== '') ||
    page < number('last_page', 'total_pages', 'totalPages', 'page_count', 'pageCount', 'pages') ||
    (Number.isInteger(total) && read < total && !isWhole);
  return hasNextPage ? null : undefined;
}

function placesOf(fields: Fields, depth: number): Fields[] {
  const inner = depth === 0 ? [] : PAGING_FIELDS.map((name) => fields[name]).filter(isRecord);
  return [fields, ...inner.flatMap((place) => placesOf(place, depth - 1))];
}

function queryOf({ searchParams }: URL, parameters: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams({ ...Object.fromEntries(searchParams), ...parameters });
  query.delete('id');
  return query.toString();
}

function sameHost(address: string, pageUrl: URL): string | null {
  if (!URL.canParse(address, pageUrl.href)) return null;
  const next = new URL(address, pageUrl);
  return next.host === pageUrl.host && next.pathname === pageUrl.pathname ? queryOf(next) : null;
}

function readPayment(paymentId: PaymentId, item: Fields, timeZone: string): ReportedPayment {
  const createdAtText = readText(item.created_at);
  return {
    paymentId,
    billId: readId(item.bill_id),
    status: statusOf(item.status),
    statusText: readText(item.status),
    amount: readAmount(item.amount),
    amountReceived: readAmount(item.amount_received),
    commission: readAmount(item.commission),
    currency: readText(item.currency_in, 16),
    fromCard: readCard(item.from_card),
    createdAtText,
    createdAt: readInstant(createdAtText, timeZone),
  };
}

/** The fields in which services say what is wrong (assumed). */
const MESSAGE_FIELDS = ['message', 'error_message', 'error', 'errors'];

/**
 * Extracts the message from any error body: a field of {@link MESSAGE_FIELDS}, `error_code`, plain text, HTML, or
 * nothing. `redact` runs before the message is truncated, so that no part of a secret survives.
 */
export function readMessage(body: string, redact = (line: string): string => line): string | undefined {
  const text = body.slice(0, MAX_ERROR_TEXT);
  const json = parseAnswer(text);
  const message = json
    ? (firstText(MESSAGE_FIELDS.map((name) => json[name])) ?? codeOf(json))
    : text.slice(0, MAX_PLAIN_TEXT).replace(/<[^>]*>/g, ' ');
  const line = cleanLine(message ?? '');
  return line ? cleanLine(maskCards(redact(line)).slice(0, 200)) : undefined;
}

function codeOf({ error_code: code }: Fields): string | undefined {
  return typeof code === 'string' && code !== '' ? `error_code ${code}` : undefined;
}

/** Numbers are codes, not messages. */
function firstText(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'string') return /^[\s\d.+-]*$/.test(value) ? undefined : value;
  if (typeof value !== 'object' || value === null || depth > 4) return undefined;
  const named = isRecord(value) ? MESSAGE_FIELDS.map((name) => value[name]) : [];
  for (const item of [...named, ...(Object.values(value) as unknown[])]) {
    const text = firstText(item, depth + 1);
    if (text) return text;
  }
  return undefined;
}

function readAmount(value: unknown): DecimalAmount | null {
  return typeof value === 'string' ? parseAmount(value.trim()) : null;
}

function readId(value: unknown): string | null {
  return isServiceId(value) ? value : null;
}

/** Masks before it cuts, and before anything can store the text. */
function readText(value: unknown, limit = 64): string | null {
  return typeof value === 'string' && value !== '' ? maskedLine(value, limit) : null;
}

/** Masks whatever is as long as a card number, whatever its check digit. */
function readCard(value: unknown): string | null {
  const text = readText(value);
  if (text === null) return null;
  return text.replace(/\d(?:[^\p{L}\p{N}]{0,3}\d){11,}/gu, (number) => {
    const digits = number.replace(/\D/g, '');
    return `${digits.slice(0, 6)}******${digits.slice(-4)}`;
  });
}

/** Only the form of section 2.3 (documented), on the wall clock of the zone (an option; UTC is assumed). */
function readInstant(text: string | null, timeZone: string): Date | null {
  if (text === null || !/^[\d-]{10} [\d:]{8}$/.test(text)) return null;
  return serviceInstant(text, timeZone) ?? null;
}
