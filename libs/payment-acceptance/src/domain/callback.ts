import type { LedgerPayment, PaymentStatus } from './payment.js';

export type CallbackKind = 'redirect-success' | 'redirect-fail' | 'postback';

export type DigestCheck = 'match' | 'mismatch' | 'absent';

/** The outcome that a postback asserts (section 2.5, documented). */
export type Assertion = 'SUCCESS' | 'FAIL';

/**
 * A callback is only a hint: it requests a check of its bill and settles nothing. callbacks/ records it; the settlement
 * of that check records its outcome.
 */
export interface Hint {
  readonly id: string;
  /** `null` for a redirect and for an unknown status. */
  readonly asserts: Assertion | null;
  /** Whether it is a redirect to the Success URL: it asserts nothing, but the list may soon show a success. */
  readonly expectsSuccess: boolean;
  readonly receivedAt: Date;
  /** How often the service has been asked because of the callback. */
  readonly asks: number;
  /** Whether the hint is due now. If not, a check made for other hints may still answer it. */
  readonly due: boolean;
}

/** A payment of the bill that an assertion may refer to. */
export interface ComparablePayment {
  readonly status: PaymentStatus;
  /** When the ledger first recorded this status. */
  readonly knownAt: Date;
  /** How many assertions have been confirmed since, whichever payment they were about. */
  readonly confirmedSince: Readonly<Record<Assertion, number>>;
}

/** A payment already in the ledger, with what assertions are counted against. */
export interface KnownPayment extends LedgerPayment, ComparablePayment {
  readonly shop: string;
  /** How many reviews of changes of the payment a person has closed. */
  readonly closedChanges: number;
  /** Whether its verdict is `review`, and a review of it is open. */
  readonly isUnderReview: boolean;
}

/** The result of a check for the hints that requested it. */
export interface AnsweredHints {
  /** Answered; `outcome` says whether the answer shows what the callback asserts. */
  readonly consumed: readonly { readonly id: string; readonly outcome: 'confirmed' | 'unconfirmed' | null }[];
  /** The service's list may lag behind the assertion: check again after the pause. */
  readonly postponed: readonly { readonly id: string; readonly pauseMs: number }[];
}
