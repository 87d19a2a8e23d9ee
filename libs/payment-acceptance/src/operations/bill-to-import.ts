import { prepareBill } from '../bills/bill-request.js';
import { PaymentInvalidBillRequestError } from '../bills/bill.errors.js';
import { maskCards } from '../common/redact.js';
import { statedPageAddress } from '../common/web-address.js';
import type { Shop } from '../config/resolved-options.js';
import { zonedInstant } from '../config/time-zone.js';
import { isServiceId, type IntentId } from '../domain/ids.js';
import type { DecimalAmount } from '../domain/money.js';
import type { ForeignBill } from './storage/import.store.js';

/** An open bill that an older integration created. */
export interface BillToImport {
  /** Name of the bill's shop in the options. Default: the default shop. */
  readonly shop?: string;
  /** The order that the bill is for, 1 to 255 characters. */
  readonly orderId: string;
  /** The service's `bill_id` (section 2.2). */
  readonly billId: string;
  /** The billed amount: an exact decimal above 0, such as `100.05`. */
  readonly amount: DecimalAmount;
  /** Three capital letters. Default: the shop's currency. */
  readonly currency?: string;
  /** When the bill was created: ISO 8601 with a time zone, such as `2026-11-21T12:00:00Z`. Its lifetime starts then. */
  readonly createdAt: string | Date;
  /**
   * Address of the payment page: https, or outside production also http. Without it, `createBill` cannot return this bill
   * for the same order.
   */
  readonly linkPageUrl?: string;
  readonly linkUrl?: string;
  /** The `custom` value that was sent, if any. */
  readonly custom?: string;
  /** Whether the payer pays the commission on top, so that more than the amount may be paid. Default: the shop's. */
  readonly payerPaysCommission?: boolean;
  readonly description?: string;
  /**
   * `false` if order and amount are not from our own records but, for example, from a postback, and nobody has confirmed
   * them. Such a bill is refused. Default `true`.
   */
  readonly verified?: boolean;
}

interface ImportContext {
  readonly shop: Shop;
  readonly intentId: IntentId;
  readonly now: Date;
  readonly production: boolean;
}

const YEAR_2000 = new Date('2000-01-01T00:00:00Z');

/** Returns the bill with its defaults filled in, or one sentence per problem. */
export function readBillToImport(
  input: BillToImport,
  { shop, intentId, now, production }: ImportContext,
): ForeignBill | string[] {
  const problems: string[] = [];
  if (input.verified !== undefined && (input.verified as unknown) !== true) {
    problems.push('The bill is not verified: check its order and amount, correct them, and set "verified" to true.');
  }
  const createdAt = instantOf(input.createdAt);
  if (!createdAt) problems.push('createdAt must be an ISO 8601 time with a time zone, such as 2026-11-21T12:00:00Z.');
  else if (createdAt > now) problems.push('createdAt is in the future.');
  else if (createdAt < YEAR_2000) problems.push('createdAt is before the year 2000.');
  if (!isServiceId(input.billId)) {
    problems.push('billId must be 1 to 128 visible characters without spaces.');
  }
  const [linkUrl, linkPageUrl] = (['linkUrl', 'linkPageUrl'] as const).map((name) => {
    const address = input[name] === undefined ? null : statedPageAddress(input[name], production);
    if (address === null && input[name] !== undefined) {
      problems.push(`${name} must be an ${production ? 'https' : 'http or https'} address.`);
    }
    return address;
  }) as [string | null, string | null];
  try {
    const fields = prepareBill(shop, input, intentId);
    if (problems.length > 0 || !createdAt) return problems;
    return {
      ...fields,
      intentId,
      shop: shop.name,
      shopId: shop.shopId,
      billId: input.billId,
      name: null,
      description: fields.description === undefined ? null : maskCards(fields.description),
      customGiven: input.custom !== undefined,
      linkUrl,
      linkPageUrl,
      createdAt,
    };
  } catch (error) {
    if (error instanceof PaymentInvalidBillRequestError) return [...error.problems, ...problems];
    throw error;
  }
}

function instantOf(value: unknown): Date | undefined {
  if (typeof value === 'string') return zonedInstant(value);
  return value instanceof Date && !Number.isNaN(value.getTime()) ? value : undefined;
}
