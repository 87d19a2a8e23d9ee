import type { FaultDocument } from './fault-document.js';

/**
 * Currencies of the redirect field `CurrencyIn` (2.4). Assumed: a bill takes the same three; only `RUB` occurs in the
 * examples.
 */
export const CURRENCIES = ['RUB', 'USD', 'EUR'] as const;
export type Currency = (typeof CURRENCIES)[number];

/** Payment statuses (2.3). */
export type PaymentStatus = 'NEW' | 'PROCESS' | 'SUCCESS' | 'FAIL';

/** Whether the payment has a result. A FAIL may still become a late SUCCESS. */
export function isFinal({ status }: { status: PaymentStatus }): boolean {
  return status === 'SUCCESS' || status === 'FAIL';
}

/** An amount as exact text with two decimals: `"100.05"`. */
export type Amount = string;

/** An instant, `2026-11-21T06:15:00.000Z`, on the sandbox's clock. */
export type Instant = string;

/** What a shop can set. The specification mentions shop settings without listing them, so their names are ours. */
export interface ShopSettings {
  /** Bearer token of the API and key of the redirect signature (section 5). */
  apiToken: string;
  /** Where the payer is sent after a successful payment (4.3). Default: none; the payer stays on the result page. */
  successUrl: string | null;
  /** Where the payer is sent after an unsuccessful payment (4.3). Default: none. */
  failUrl: string | null;
  /** Where postbacks go (4.4). Default: none; no postback is made. */
  resultUrl: string | null;
  /** Documented: `json` (default). Assumed: `form`, which many deployed handlers read. */
  postbackFormat: 'json' | 'form';
  /**
   * The postback's formula is not documented. `redirect-formula` (default, assumed) uses section 5; `none` sends no
   * SignatureValue.
   */
  postbackSignature: 'redirect-formula' | 'none';
  /** Percent of the amount, with at most four decimals. Default 0. */
  commissionPercent: number;
  /** A banned shop gets 403 `api:error.merchant_banned`, and its bills cannot be paid. Default false. */
  banned: boolean;
  /**
   * A list of more payments is refused with `api:error.too_many_payments`. Default 100 (assumed: the threshold is not
   * documented).
   */
  maxPayments: number;
  /** The shop's name as payers see it. Default: its id. */
  name: string | null;
  /**
   * Whether a bill's own `success_url`, `fail_url` and `return_url` are used. Default false: the specification has no
   * such fields. If true (assumed, as real clients expect it), the payer is sent to the bill's addresses if it has
   * them, and the payment page links to its `return_url`.
   */
  billAddresses: boolean;
  /**
   * Whether an amount with more than two decimals is rounded half up, for clients that compute in floating point.
   * Default false: it is refused.
   */
  roundAmounts: boolean;
  /**
   * `success` in the answer to a creation. Documented: `text`, the string "true" (default). Assumed: `boolean`, as
   * typed clients may expect.
   */
  creationSuccess: 'text' | 'boolean';
}

export interface Shop extends ShopSettings {
  id: string;
}

export interface Bill {
  id: string;
  shopId: string;
  /** Comes back as `InvId`; empty if none was given. */
  orderId: string;
  amount: Amount;
  currency: Currency;
  description: string;
  name: string;
  type: string;
  /** Comes back as `custom`; null if none was given. */
  custom: string | null;
  payerPaysCommission: boolean;
  createdAt: Instant;
  /** The bill's own addresses, if any were given and the shop's `billAddresses` is on. */
  addresses?: BillAddresses;
}

/** The addresses for the payer of one bill. Null: the shop's address is used, or none in the case of `returnUrl`. */
export interface BillAddresses {
  successUrl: string | null;
  failUrl: string | null;
  /** Where the payment page leads a payer who does not pay. */
  returnUrl: string | null;
}

export interface Payment {
  id: string;
  billId: string;
  status: PaymentStatus;
  /** What the payer pays in total. */
  amount: Amount;
  /** What the shop receives; `0.00` until the payment succeeds (assumed). */
  amountReceived: Amount;
  commission: Amount;
  currency: Currency;
  /** First six digits, six asterisks, last four digits. */
  fromCard: string;
  createdAt: Instant;
  /** Its statuses so far, the present one last. */
  history: PlannedStatus[];
  /** Statuses still to come, in order. */
  plan: PlannedStatus[];
}

export interface PlannedStatus {
  status: PaymentStatus;
  at: Instant;
}

/** A page that the payer saw, for the console's timeline. */
export interface Visit {
  billId: string;
  at: Instant;
  /**
   * `link` and `form` are the pages of 2.2; `redirect` is the result page with the form that takes the browser to the
   * shop (4.3).
   */
  page: 'link' | 'form' | 'redirect';
  /** The payment whose result was shown; null on other pages. */
  paymentId: string | null;
  /** Where the browser was sent; null on other pages. */
  url: string | null;
}

/** One postback, genuine or not, with every attempt to deliver it. */
export interface Callback {
  id: string;
  billId: string;
  /** The payment it reports; null if forged for a bill without a payment. */
  paymentId: string | null;
  /** `postback` is what the service itself sends; the others come from faults and the control interface. */
  kind: 'postback' | 'duplicate' | 'replay' | 'forged';
  /** The fields of 2.5, exactly as sent. */
  fields: Record<string, string>;
  /** `dropped`: a fault lost it. `givenUp`: no attempt is left. */
  state: 'pending' | 'delivered' | 'givenUp' | 'dropped';
  createdAt: Instant;
  /** When the next attempt is due; null if there is none. */
  nextTryAt: Instant | null;
  /** The format to use instead of the shop's `postbackFormat`. */
  format?: ShopSettings['postbackFormat'];
  /** Held back by the fault `reorder`, until a later postback has gone out. */
  held: boolean;
  tries: CallbackTry[];
}

export interface CallbackTry {
  at: Instant;
  url: string;
  /** How the fields were sent. */
  format: ShopSettings['postbackFormat'];
  /** The HTTP status of the answer; null if none came. */
  status: number | null;
  /** The first bytes of the answer's body. */
  body: string;
  /** Why there is no answer; null if there is one. */
  error: string | null;
  durationMs: number;
  /** What the answer means, and what to do about it; absent if there is nothing to say. */
  advice?: string;
  /** The format to try instead; absent if the advice names none. */
  remedy?: ShopSettings['postbackFormat'];
}

/** A state change, as the store applies it and the journal keeps it. */
export type Change =
  | { shop: Shop }
  | { bill: Bill }
  | { payment: Payment }
  | { callback: Callback }
  | { visit: Visit }
  | { clockOffsetMs: number }
  | { faults: FaultDocument }
  | { seeded: { shopId: string; settings: Partial<ShopSettings> } };
