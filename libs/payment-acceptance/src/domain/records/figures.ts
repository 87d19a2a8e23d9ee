import type { BillState } from '../bill.js';

/** The last 24 hours in figures. */
export interface PaymentFigures {
  readonly hours: readonly HourOfPayments[];
  /**
   * How long payments took from the service's `created_at`, which is in whole seconds by its own clock, to their settlement,
   * in milliseconds. Those of a shop that was not used in this process yet are left out.
   */
  readonly settlementDelaysMs: readonly number[];
  readonly waiting: readonly WaitingWork[];
  readonly errors: readonly ErrorCount[];
  /** Bills made, by state. */
  readonly states: readonly { readonly state: BillState; readonly count: number }[];
  /** Whether the day had more events than were read: then the early hours lack some. */
  readonly cut: boolean;
}

/** Payments of one hour, by what became of them. */
export interface HourOfPayments {
  /** Its start, ISO 8601. */
  readonly hour: string;
  readonly succeeded: number;
  readonly failed: number;
  readonly reviews: number;
}

/** How much of what is due now has waited how long. */
export interface WaitingWork {
  readonly kind: 'check' | 'delivery';
  /** Index of the last of the given ages that it has passed; -1 before the first. */
  readonly age: number;
  readonly count: number;
}

export interface ErrorCount {
  /** Where it happened: `creation`, `check`, or the name of a consumer. */
  readonly where: string;
  /** Name of the error. */
  readonly kind: string;
  readonly count: number;
}
