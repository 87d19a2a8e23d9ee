import type { LedgerPayment, PaymentStatus } from './payment.js';

export type CallbackKind = 'redirect-success' | 'redirect-fail' | 'postback';

export type DigestCheck = 'match' | 'mismatch' | 'absent';

/** What a postback asserts to have happened (section 2.5, documented). */
export type Assertion = 'SUCCESS' | 'FAIL';

/**
 * A callback is only a hint: it asks for a check of its bill, and settles nothing. callbacks/ records it; the settlement of
 * the check that it asked for says what became of it.
 */
export interface Hint {
  readonly id: string;
  /** `null` for a redirect and for an unknown status. */
  readonly asserts: Assertion | null;
  readonly receivedAt: Date;
  /** How often the service has been asked for its sake already. */
  readonly asks: number;
  /** Whether it is its turn now; one that is not may still be answered along the way. */
  readonly due: boolean;
}

/** A payment of the bill that an assertion may be about. */
export interface ComparablePayment {
  readonly status: PaymentStatus;
  /** When the ledger came to know this status. */
  readonly knownAt: Date;
  /** How many assertions have been confirmed since, of whatever payment. */
  readonly confirmedSince: Readonly<Record<Assertion, number>>;
}

/** A payment that was there before, with what the assertions of callbacks are counted against. */
export interface KnownPayment extends LedgerPayment {
  readonly shop: string;
  /** When the ledger came to know its status. */
  readonly knownAt: Date;
  /** How many assertions of its bill have been confirmed since, of whatever payment. */
  readonly confirmedSince: Readonly<Record<Assertion, number>>;
}

/** What a check does with the hints it was made for. */
export interface AnsweredHints {
  /** Had their answer; `outcome` says whether it shows what the callback asserts. */
  readonly consumed: readonly { readonly id: string; readonly outcome: 'confirmed' | 'unconfirmed' | null }[];
  /** The answer may lag behind the assertion: asked again after the pause. */
  readonly again: readonly { readonly id: string; readonly pauseMs: number }[];
}
