import type { PaymentResult } from '../config/hooks.js';
import type { FieldError } from './parse-body.js';
import type { OrderId } from '../domain/ids.js';

/** What became of a callback that was not taken, with the HTTP status that says so. */
export type CallbackRefusal =
  /** There is no shop of that name. */
  | { readonly kind: 'unknown-shop'; readonly status: 404 }
  | { readonly kind: 'malformed'; readonly status: 400; readonly errors: readonly FieldError[] }
  /** The digest does not match. */
  | { readonly kind: 'refused'; readonly status: 403 }
  /**
   * Our own failure: it is logged, and the sender shall come again; after `retryAfter` seconds where that is known, as the
   * answer's `Retry-After`.
   */
  | { readonly kind: 'not-stored'; readonly status: 503; readonly retryAfter?: number };
export type NotStored = Extract<CallbackRefusal, { kind: 'not-stored' }>;

/** What to answer a postback: nothing but `stored` is a success. */
export type PostbackAnswer = { readonly kind: 'stored'; readonly status: 200 } | CallbackRefusal;

/** What to answer the payer's redirect. */
export type RedirectAnswer =
  /** Send the payer on with 303 to a page that shows the ticket's result: a reload shall not post again. */
  | { readonly kind: 'result'; readonly status: 303; readonly ticket: string }
  /** The redirect proves nothing, so nothing was looked up: thank the payer, and name no result. */
  | { readonly kind: 'neutral'; readonly status: 200; readonly orderId: OrderId }
  | CallbackRefusal;

/** What to show the payer of a ticket. */
export type ResultAnswer =
  | { readonly kind: 'shown'; readonly status: 200; readonly result: PaymentResult }
  /** The ticket is wrong, altered or expired. */
  | { readonly kind: 'invalid'; readonly status: 404 }
  | { readonly kind: 'not-stored'; readonly status: 503 };

export const STORED = { kind: 'stored', status: 200 } as const;
export const UNKNOWN_SHOP = { kind: 'unknown-shop', status: 404 } as const;
export const REFUSED = { kind: 'refused', status: 403 } as const;
export const INVALID = { kind: 'invalid', status: 404 } as const;
export const NOT_STORED = { kind: 'not-stored', status: 503 } as const;
/** What waits now is stored, or given up, by then. */
export const TOO_MANY_AT_ONCE = { ...NOT_STORED, retryAfter: 1 } as const;

export function malformed(errors: readonly FieldError[]) {
  return { kind: 'malformed', status: 400, errors } as const;
}
