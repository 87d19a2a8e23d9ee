import { prepareBill } from '../bills/bill-request.js';
import { InvalidBillRequestError } from '../bills/bill.errors.js';
import { statedPageAddress } from '../common/web-address.js';
import type { Shop } from '../config/resolved-options.js';
import type { IntentId } from '../domain/ids.js';
import type { DecimalAmount } from '../domain/money.js';
import type { ForeignBill } from '../storage/import.store.js';

/** An open bill that an older integration has had made. */
export interface BillToImport {
  /** Name of its shop in the options. Default: the default shop. */
  readonly shop?: string;
  /** The order it was made for, 1 to 255 characters. */
  readonly orderId: string;
  /** The service's `bill_id` (section 2.2). */
  readonly billId: string;
  /** What it asks for: an exact decimal above 0, such as `100.05`. */
  readonly amount: DecimalAmount;
  /** Three capital letters. Default: the shop's currency. */
  readonly currency?: string;
  /** When it was made: ISO 8601 with its zone, such as `2026-11-21T12:00:00Z`. From then on its lifetime counts. */
  readonly createdAt: string | Date;
  /** Its payment page, http or https, in production https; without it `createBill` cannot return the bill for the same order. */
  readonly linkPageUrl?: string;
  readonly linkUrl?: string;
  /** What went out as `custom`, where anything did. */
  readonly custom?: string;
  readonly payerPaysCommission?: boolean;
  readonly description?: string;
  /**
   * `false` where order and amount are not our own record, as a postback names them, and nobody has confirmed them: it is
   * refused then. Default `true`.
   */
  readonly verified?: boolean;
}

/** What the bill does not say about itself. */
interface Surroundings {
  readonly shop: Shop;
  /** Our id for it. */
  readonly intentId: IntentId;
  readonly now: Date;
  readonly production: boolean;
}

const BILL_ID = /^[\x21-\x7e]{1,128}$/;
const ZONED = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/;

/** The bill with its defaults, or a sentence for each of its problems. */
export function readBillToImport(
  given: BillToImport,
  { shop, intentId, now, production }: Surroundings,
): ForeignBill | string[] {
  const problems: string[] = [];
  if (given.verified !== undefined && (given.verified as unknown) !== true) {
    problems.push('It is not verified: check its order and amount, correct them, and set "verified" to true.');
  }
  const createdAt = instantOf(given.createdAt);
  if (!createdAt) problems.push('createdAt must be an ISO 8601 instant with its zone, such as 2026-11-21T12:00:00Z.');
  else if (createdAt > now) problems.push('createdAt is in the future.');
  if (typeof given.billId !== 'string' || !BILL_ID.test(given.billId)) {
    problems.push('billId must be 1 to 128 visible characters without a space.');
  }
  const [linkUrl, linkPageUrl] = (['linkUrl', 'linkPageUrl'] as const).map((name) => {
    const address = given[name] === undefined ? null : statedPageAddress(given[name], production);
    if (address === null && given[name] !== undefined) {
      problems.push(`${name} must be an ${production ? 'https' : 'http or https'} address.`);
    }
    return address;
  }) as [string | null, string | null];
  try {
    const fields = prepareBill(shop, given, intentId);
    if (problems.length > 0 || !createdAt) return problems;
    return {
      ...fields,
      intentId,
      shop: shop.name,
      billId: given.billId,
      name: null,
      description: fields.description ?? null,
      customGiven: given.custom !== undefined,
      linkUrl,
      linkPageUrl,
      createdAt,
    };
  } catch (error) {
    if (error instanceof InvalidBillRequestError) return [...error.problems, ...problems];
    throw error;
  }
}

function instantOf(value: unknown): Date | undefined {
  const instant =
    value instanceof Date ? value : typeof value === 'string' && ZONED.test(value) ? new Date(value) : undefined;
  return instant && !Number.isNaN(instant.getTime()) ? instant : undefined;
}
