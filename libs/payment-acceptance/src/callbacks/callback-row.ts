import { maskCards, redactFields } from '../common/redact.js';
import { databaseText } from '../common/text.js';
import type { DigestCheck } from '../domain/callback.js';
import { parseAmount } from '../domain/money.js';
import type { NewCallback } from './storage/stored-callback.js';
import type { NamedBill } from './storage/named-bill.store.js';
import {
  DECIMAL_PATTERN,
  MAX_CURRENCY_LENGTH,
  MAX_CUSTOM_LENGTH,
  type PostbackDto,
  type RedirectDto,
} from './callback.dto.js';

export type CallbackRow = Omit<NewCallback, 'id'>;

/** The longest `TrsId` and `Status` that are kept, and our longest order id. */
const MAX_ID_LENGTH = 128;
const MAX_STATUS_LENGTH = 64;
const MAX_ORDER_LENGTH = 255;

/** `billId` is `null` if no bill can have the postback's `TrsId`. */
export function postbackRow(shop: string, postback: PostbackDto, digest: DigestCheck, body: object) {
  const { TrsId = '', InvId, Status } = postback;
  const orderId = toComparable(InvId, MAX_ORDER_LENGTH);
  const billId = databaseText(TrsId.slice(0, MAX_ID_LENGTH + 1));
  return {
    kind: 'postback',
    shop,
    intentId: null,
    billId: billId === '' || billId.length > MAX_ID_LENGTH ? null : billId,
    orderId,
    maskedOrderId: InvId === undefined || InvId.length > MAX_ORDER_LENGTH ? null : maskCards(databaseText(InvId)),
    status: Status === undefined ? null : maskCards(databaseText(Status.slice(0, MAX_STATUS_LENGTH))),
    digest,
    ...comparedFields(postback),
    fields: redactFields(body),
  } satisfies CallbackRow;
}

export function redirectRow(
  kind: 'redirect-success' | 'redirect-fail',
  { shop, intentId, orderId }: NamedBill,
  redirect: RedirectDto,
  digest: DigestCheck,
  body: object,
): CallbackRow {
  return {
    kind,
    shop,
    intentId,
    billId: null,
    orderId,
    maskedOrderId: orderId,
    status: null,
    digest,
    ...comparedFields(redirect),
    fields: redactFields(body),
  };
}

function comparedFields(callback: RedirectDto | PostbackDto): Pick<NewCallback, 'amount' | 'currency' | 'custom'> {
  const { OutSum } = callback;
  return {
    // No bill has the amount 0, so one that cannot be read never matches.
    amount: OutSum === undefined ? null : ((DECIMAL_PATTERN.test(OutSum) ? parseAmount(OutSum) : null) ?? '0'),
    currency: toComparable(callback.CurrencyIn, MAX_CURRENCY_LENGTH),
    custom: toComparable(callback.custom, MAX_CUSTOM_LENGTH),
  };
}

/** A postback's texts may have any length. A text longer than ours can be becomes one that never matches. */
function toComparable(text: string | undefined, maxLength: number): string | null {
  if (text === undefined) return null;
  return text.length > maxLength ? ' '.repeat(maxLength + 1) : databaseText(text);
}
