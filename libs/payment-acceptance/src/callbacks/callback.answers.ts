import type { PaymentResult } from '../config/hooks.js';
import type { FieldError } from './parse-body.js';
import type { OrderId } from '../domain/ids.js';

/** Why a callback was not accepted, with the HTTP status to answer. */
export type CallbackRefusal =
  /** There is no shop with that name. */
  | { readonly kind: 'unknown-shop'; readonly status: 404 }
  | { readonly kind: 'malformed'; readonly status: 400; readonly errors: readonly FieldError[] }
  /** The digest does not match. */
  | { readonly kind: 'refused'; readonly status: 403 }
  /**
   * Our own failure: it is logged, and the sender should retry, after `retryAfter` seconds if set (the answer's
   * `Retry-After`).
   */
  | { readonly kind: 'not-stored'; readonly status: 503; readonly retryAfter?: number };
export type NotStoredAnswer = Extract<CallbackRefusal, { kind: 'not-stored' }>;

/** How to answer a postback: only `stored` is a success. */
export type PostbackAnswer = { readonly kind: 'stored'; readonly status: 200 } | CallbackRefusal;

/** How to answer the payer's redirect. */
export type RedirectAnswer =
  /** Send the payer with 303 to the page that shows the ticket's result, so that a reload does not post again. */
  | { readonly kind: 'result'; readonly status: 303; readonly ticket: string }
  /** The redirect proves nothing, so nothing was looked up: thank the payer without naming a result. */
  | { readonly kind: 'neutral'; readonly status: 200; readonly orderId: OrderId }
  | CallbackRefusal;

/** What to show for a ticket. */
export type ResultAnswer =
  | { readonly kind: 'shown'; readonly status: 200; readonly result: PaymentResult }
  /** The ticket is wrong, altered or expired. */
  | { readonly kind: 'invalid'; readonly status: 404 }
  | { readonly kind: 'not-stored'; readonly status: 503 };

export const STORED_ANSWER = { kind: 'stored', status: 200 } as const;
export const UNKNOWN_SHOP_ANSWER = { kind: 'unknown-shop', status: 404 } as const;
export const REFUSED_ANSWER = { kind: 'refused', status: 403 } as const;
export const INVALID_ANSWER = { kind: 'invalid', status: 404 } as const;
export const NOT_STORED_ANSWER = { kind: 'not-stored', status: 503 } as const;
/** After a second, some of the callbacks that wait now have usually been stored. */
export const OVERLOADED_ANSWER = { ...NOT_STORED_ANSWER, retryAfter: 1 } as const;

export function malformedAnswer(errors: readonly FieldError[]) {
  return { kind: 'malformed', status: 400, errors } as const;
}
