import type { DecimalAmount } from '../domain/money.js';

/*
 * The functions that a host can pass as options, with their parameters and results.
 */

/** A postback whose `TrsId` is not one of our bills, as received. */
export interface ForwardedPostback {
  /** Name of the shop whose route received it. */
  readonly shop: string;
  /** `TrsId`: the service's bill id. */
  readonly billId: string;
  /** `InvId`: the order it names. */
  readonly orderId: string;
  /** All fields as the host's body parser has read them, including unknown ones and `SignatureValue`. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The transmitted bytes, if the application was created with `rawBody: true`; digests are computed over these. */
  readonly rawBody?: Buffer;
  /** `Content-Type` of the postback. */
  readonly contentType?: string;
  /** Whether `SignatureValue` is what the redirect's formula gives for one of the shop's tokens. */
  readonly digest: 'match' | 'mismatch' | 'absent';
}

/**
 * Hands a postback to an older integration. Resolves to `true` if that has accepted it for good, and to `false` if the
 * postback does not belong to it either. A rejection means that nobody knows: the sender gets a 503 and sends the postback
 * again, so the call must be idempotent. The signal aborts at the time limit.
 */
export type ForwardPostback = (postback: ForwardedPostback, signal: AbortSignal) => Promise<boolean>;

/** What the payer is told after the redirect: the stored state, never what the redirect claims. */
export interface PaymentResult {
  readonly shop: string;
  /** The `InvId` of the redirect: the shop's order id. */
  readonly orderId: string;
  /** `pending` until the service's list of payments says otherwise. */
  readonly result: 'paid' | 'failed' | 'pending';
  readonly amount: DecimalAmount;
  readonly currency: string;
}

/** Returns the whole HTML page, or redirects the payer to an address of yours (303). */
export type PaymentResultRenderer = (
  result: PaymentResult,
) => string | { redirectTo: string } | Promise<string | { redirectTo: string }>;
