import { createHmac, timingSafeEqual } from 'node:crypto';
import type { CreatedBill } from '../client/answers.js';
import type { BillFields } from '../client/payment-service.client.js';
import type { Secret } from '../common/secret.js';
import { NON_PRINTING } from '../common/text.js';
import type { Shop } from '../config/resolved-options.js';
import type { BillId, IntentId, OrderId } from '../domain/ids.js';
import type { DecimalAmount } from '../domain/money.js';

/**
 * The log record of a bill that the service created: everything needed to recover it if the database loses it. It omits
 * the shop's `custom`, which may be personal data.
 */
export interface CreationRecord {
  readonly shop: string;
  readonly orderId: OrderId;
  /** The service's `bill_id`. */
  readonly billId: BillId;
  /** Our id of the bill, which the database may have lost. */
  readonly intentId: IntentId;
  readonly amount: DecimalAmount;
  readonly currency: string;
  readonly payerPaysCommission: boolean;
  /** When the service's answer came: ISO 8601, UTC. */
  readonly createdAt: string;
  /** The payment page. Not a secret: the payer has it, and it can be derived from the bill id. */
  readonly linkPageUrl: string | null;
}

/** Marks the start of a record, whatever the logger writes before it. */
export const CREATION_PREFIX = 'payment-acceptance bill created:';

/** Changes with the format, so that an older release does not misread a newer record. */
const VERSION = 1;

/** A record as read from a log line. Anyone who can get text into the log can forge one: see {@link isSealed}. */
export interface LoggedCreation {
  readonly record: CreationRecord;
  readonly seal: string;
}

export function creationRecord(
  shop: string,
  { orderId, amount, currency, payerPaysCommission }: BillFields,
  intentId: IntentId,
  { billId, linkPageUrl }: CreatedBill,
  now: Date,
): CreationRecord {
  const createdAt = now.toISOString();
  return { shop, orderId, billId, intentId, amount, currency, payerPaysCommission, createdAt, linkPageUrl };
}

/** One line, in which shop data can neither start another line nor send control codes to a terminal. */
export function creationLine(record: CreationRecord, token: Secret): string {
  const json = JSON.stringify({ version: VERSION, ...record, seal: sealOf(record, token) });
  // JSON escapes only the control characters below the space.
  const escaped = json.replace(NON_PRINTING, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `${CREATION_PREFIX} ${escaped}`;
}

/**
 * Whether the record was written with one of the shop's current tokens. Logs also contain text that strangers send,
 * which may look like a record.
 */
export function isSealed({ record, seal }: LoggedCreation, { token, previousTokens }: Shop): boolean {
  const given = Buffer.from(seal);
  return [token, ...previousTokens].some((each) => {
    const expected = Buffer.from(sealOf(record, each));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

function sealOf(record: CreationRecord, token: Secret): string {
  const { shop, orderId, billId, intentId, amount, currency, payerPaysCommission, createdAt, linkPageUrl } = record;
  const fields = [shop, orderId, billId, intentId, amount, currency, payerPaysCommission, createdAt, linkPageUrl];
  return createHmac('sha256', token.reveal())
    .update(`${CREATION_PREFIX}${VERSION}${JSON.stringify(fields)}`)
    .digest('hex');
}

/**
 * Finds the record in a log line: plain text, coloured or not, as Nest's console logger writes it, or JSON with the
 * text anywhere inside, as Nest, pino and log collectors write it.
 * @returns `undefined` for a line without a record, `unreadable` for one whose record cannot be parsed
 */
export function readCreationLine(line: string): LoggedCreation | 'unreadable' | undefined {
  if (!line.includes(CREATION_PREFIX)) return undefined;
  const text = messageIn(line);
  if (text === undefined) return 'unreadable';
  const json = firstObject(text.slice(text.indexOf(CREATION_PREFIX) + CREATION_PREFIX.length));
  const value = json === undefined ? undefined : parsed(json);
  return isRecord(value) ? loggedOf(value) : 'unreadable';
}

/** The text with the prefix: the line itself, or a string inside the JSON that the line is or ends with. */
function messageIn(line: string): string | undefined {
  const start = line.indexOf('{');
  if (start > line.indexOf(CREATION_PREFIX)) return line;
  const found = stringIn(parsed(line.slice(start, line.lastIndexOf('}') + 1)));
  // An unrelated brace before the prefix, such as one in a collector's tags.
  if (found === undefined) return line;
  // A collector wrapped a line that is itself JSON.
  return found.trimStart().startsWith('{') ? messageIn(found) : found;
}

function stringIn(value: unknown): string | undefined {
  if (typeof value === 'string') return value.includes(CREATION_PREFIX) ? value : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const each of Object.values(value)) {
    const found = stringIn(each);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The JSON object at the start of a text. What follows it, such as a colour reset, comes from the logger. */
function firstObject(text: string): string | undefined {
  const start = text.search(/\S/);
  if (text[start] !== '{') return undefined;
  const strings = /"(?:[^"\\]|\\.)*"|\}/g;
  strings.lastIndex = start;
  // Records contain no nested objects, so the first brace outside a string closes the record.
  for (let found = strings.exec(text); found; found = strings.exec(text)) {
    if (found[0] === '}') return text.slice(start, strings.lastIndex);
  }
  return undefined;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

type Given = Readonly<Record<keyof CreationRecord | 'version' | 'seal', unknown>>;

function isRecord(value: unknown): value is CreationRecord & Pick<LoggedCreation, 'seal'> {
  if (typeof value !== 'object' || value === null) return false;
  const given = value as Given;
  const texts = [given.shop, given.orderId, given.billId, given.intentId, given.amount, given.currency, given.seal];
  return (
    given.version === VERSION &&
    texts.every((text) => typeof text === 'string' && text !== '') &&
    typeof given.payerPaysCommission === 'boolean' &&
    typeof given.createdAt === 'string' &&
    !Number.isNaN(Date.parse(given.createdAt)) &&
    (given.linkPageUrl === null || typeof given.linkPageUrl === 'string')
  );
}

function loggedOf({ seal, ...given }: CreationRecord & Pick<LoggedCreation, 'seal'>): LoggedCreation {
  const { shop, orderId, billId, intentId, amount, currency, payerPaysCommission, createdAt, linkPageUrl } = given;
  const record = { shop, orderId, billId, intentId, amount, currency, payerPaysCommission, createdAt, linkPageUrl };
  return { record, seal };
}
