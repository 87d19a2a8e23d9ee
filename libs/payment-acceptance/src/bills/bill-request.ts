import { types } from 'node:util';
import type { BillFields } from '../client/payment-service.client.js';
import type { Shop } from '../config/resolved-options.js';
import type { OrderId } from '../domain/ids.js';
import { parseAmount, type DecimalAmount } from '../domain/money.js';
import { PaymentInvalidBillRequestError } from './bill.errors.js';

/** A request to create a bill: section 2.1 of the specification. Length limits are assumed. */
export interface CreateBillRequest {
  /** The shop's order identifier, 1 to 255 characters; comes back as `InvId`. */
  orderId: string;
  /** Exact decimal above 0, such as `100.05`: decimal(10,2). Never a `number`. */
  amount: DecimalAmount;
  /** Description of the link, up to 1000 characters; a line break counts as two, as it is sent. */
  description?: string;
  /** Name of the payment, up to 255 characters. */
  name?: string;
  /** Bill type. Default `normal`, the only one in use. */
  type?: string;
  /** Three capital letters. Default: the shop's currency. */
  currency?: string;
  /**
   * Arbitrary shop data, up to 2000 characters, a line break counting as two; comes back as `custom`. Line endings are
   * stored and sent as CRLF, the only ones a multipart form can carry. A call that returns an open bill does not change its
   * `custom`, nor the other texts. Default: the intent's random id, by which redirects are matched to their bill.
   */
  custom?: string;
  /** Whether the payer pays the commission. Default: the shop's option. */
  payerPaysCommission?: boolean;
  /**
   * When the order was made; at most a minute in the future. If the ledger has a bill or a cancellation of this `orderId`
   * that is more than a minute older, the id belonged to an earlier order, and no bill is made or returned (ours, assumed).
   * Default: order ids are assumed never to be reused.
   */
  orderedAt?: Date;
}

/** @throws PaymentInvalidBillRequestError if `orderedAt` is in the future, for example read in the wrong time zone */
export function requirePast(shop: string, orderId: OrderId, orderedAt: Date | undefined, now: Date): void {
  if (!orderedAt || orderedAt.getTime() <= now.getTime() + MAX_CLOCK_SKEW_MS) return;
  const problem = 'orderedAt is in the future: is the column read in the wrong time zone?';
  throw new PaymentInvalidBillRequestError(shop, orderId, [problem]);
}

/** How far the clocks of the host and of its database may be apart. */
const MAX_CLOCK_SKEW_MS = 60_000;

export function isOfEarlierOrder(knownAt: Date, orderedAt: Date): boolean {
  return knownAt.getTime() < orderedAt.getTime() - MAX_CLOCK_SKEW_MS;
}

const ORDER_ID_RULE =
  'orderId must be a single-line string of 1 to 255 characters, in well-formed Unicode and without NUL characters.';

export function requireOrderId(shop: string, orderId: unknown): asserts orderId is OrderId {
  if (!isOrderId(orderId)) throw new PaymentInvalidBillRequestError(shop, '', [ORDER_ID_RULE]);
}

export function isOrderId(orderId: unknown): orderId is OrderId {
  return isText(orderId, 255) && orderId !== '' && !/[\r\n]/.test(orderId);
}

function isTime(value: unknown): boolean {
  return types.isDate(value) && !Number.isNaN(value.getTime());
}

function isText(value: unknown, limit: number): value is string {
  return typeof value === 'string' && value.length <= limit && !value.includes('\0') && value.isWellFormed();
}

/** @throws PaymentInvalidBillRequestError naming every unusable field */
export function prepareBill(shop: Shop, request: CreateBillRequest, intentId: string): BillFields {
  const problems: string[] = [];
  const amount = typeof request.amount === 'string' ? parseAmount(request.amount) : null;
  if (amount === null || /^-|^0\.00$/.test(amount)) {
    problems.push('amount must be a decimal string above 0 with at most 8 digits before the point and 2 after it.');
  }
  const text = (name: 'description' | 'name' | 'type' | 'custom', limit: number): string | undefined => {
    const given: unknown = request[name];
    if (given === undefined) return undefined;
    const value = typeof given === 'string' ? given.replace(/\r\n|\r|\n/g, '\r\n') : given;
    if (isText(value, limit)) return value;
    problems.push(
      `${name} must be a well-formed string of at most ${limit} characters, without NUL. A line break counts as two.`,
    );
    return undefined;
  };
  const { orderId } = request;
  if (!isOrderId(orderId)) problems.push(ORDER_ID_RULE);
  const description = text('description', 1000);
  const name = text('name', 255);
  const type = text('type', 64) ?? 'normal';
  const custom = text('custom', 2000) ?? intentId;
  const currency = request.currency ?? shop.currency;
  if (!isText(currency, 3) || !/^[A-Z]{3}$/.test(currency)) problems.push('currency must be three capital letters.');
  const payerPaysCommission: unknown = request.payerPaysCommission ?? shop.payerPaysCommission;
  if (request.orderedAt !== undefined && !isTime(request.orderedAt)) problems.push('orderedAt must be a Date.');
  if (typeof payerPaysCommission !== 'boolean') problems.push('payerPaysCommission must be true or false.');
  if (problems.length > 0 || amount === null || typeof payerPaysCommission !== 'boolean') {
    throw new PaymentInvalidBillRequestError(shop.name, isOrderId(orderId) ? orderId : '', problems);
  }
  return { amount, orderId, description, type, currency, custom, payerPaysCommission, name };
}
