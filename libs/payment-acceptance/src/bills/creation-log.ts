import { createHmac, timingSafeEqual } from 'node:crypto';
import type { CreatedBill } from '../client/answers.js';
import type { BillFields } from '../client/payment-service.client.js';
import type { Secret } from '../common/secret.js';
import { shownText } from '../common/text.js';
import type { Shop } from '../config/resolved-options.js';
import type { BillId, IntentId, OrderId } from '../domain/ids.js';
import type { DecimalAmount } from '../domain/money.js';

/**
 * A created bill as the log records it: in the format of an import, with the id of its intent. Omits the shop's
 * `custom`, which may be personal data.
 */
export interface CreationRecord {
  readonly shop: string;
  readonly orderId: OrderId;
  readonly billId: BillId;
  /** Our id of the bill, which the database may have lost. */
  readonly intentId: IntentId;
  readonly amount: DecimalAmount;
  readonly currency: string;
  readonly payerPaysCommission: boolean;
  /** When the service's answer came: ISO 8601, UTC. */
  readonly createdAt: string;
  /** The payment page. Not a secret: the payer has it, and it can be derived from the bill id. */
  readonly linkPageUrl?: string;
}

const RECORD_PREFIX = 'payment-acceptance bill created:';

/**
 * The record in base64url, which no logger or collector escapes, and its seal. Matches the last such pair of a line,
 * since an order id may look like one.
 */
const SEALED_RECORD_PATTERN = new RegExp(`${RECORD_PREFIX}.* ([\\w-]+)\\.([0-9a-f]{64})`);

export function creationRecord(
  shop: string,
  { orderId, amount, currency, payerPaysCommission }: BillFields,
  intentId: IntentId,
  { billId, linkPageUrl }: CreatedBill,
  now: Date,
): CreationRecord {
  const bill = { shop, orderId, billId, intentId, amount, currency, payerPaysCommission, createdAt: now.toISOString() };
  return { ...bill, ...(linkPageUrl !== null && { linkPageUrl }) };
}

export function creationLine(record: CreationRecord, token: Secret): string {
  const { shop, orderId, billId } = record;
  const text = Buffer.from(JSON.stringify(record)).toString('base64url');
  return `${RECORD_PREFIX} ${shownText(`bill ${billId} of order ${orderId} of shop ${shop}`)}: ${text}.${sealOf(text, token)}`;
}

/**
 * @param find finds a shop by name; its tokens are tried on the seal
 * @returns `undefined` for a line without a record; `unsealed` for a record that is cut off or may have been written by
 *   somebody else
 */
export async function readCreationLine(
  line: string,
  find: (name: string) => Promise<Shop | undefined>,
): Promise<CreationRecord | 'unsealed' | undefined> {
  if (!line.includes(RECORD_PREFIX)) return undefined;
  const [, text = '', seal = ''] = SEALED_RECORD_PATTERN.exec(line) ?? [];
  const record = recordIn(text);
  const shop = record && (await find(record.shop));
  const tokens = shop ? [shop.token, ...shop.previousTokens] : [];
  const isOurs = tokens.some((token) => timingSafeEqual(Buffer.from(seal), Buffer.from(sealOf(text, token))));
  return isOurs ? record : 'unsealed';
}

function recordIn(text: string): CreationRecord | undefined {
  try {
    const record = JSON.parse(Buffer.from(text, 'base64url').toString()) as CreationRecord | null;
    return typeof record?.shop === 'string' ? record : undefined;
  } catch {
    return undefined;
  }
}

/** Proves that the record is ours: logs also contain external text that may look like a record. */
function sealOf(text: string, token: Secret): string {
  return createHmac('sha256', token.reveal()).update(`${RECORD_PREFIX}${text}`).digest('hex');
}
