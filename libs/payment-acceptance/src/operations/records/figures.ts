import type { BillState } from '../../domain/bill.js';

/** The last 24 hours in figures. */
export interface PaymentFigures {
  readonly hours: readonly HourOfPayments[];
  /**
   * How long payments took from the service's `created_at` (whole seconds, on its own clock) to their settlement, in
   * milliseconds. Excludes shops not yet used in this process.
   */
  readonly settlementDelaysMs: readonly number[];
  readonly waiting: readonly WaitingWork[];
  readonly errors: readonly ErrorCount[];
  /** Bills created, by state. */
  readonly states: readonly { readonly state: BillState; readonly count: number }[];
  /** Whether the day had more events than were read; the early hours are then incomplete. */
  readonly truncated: boolean;
}

/** Payments of one hour, by outcome. */
export interface HourOfPayments {
  /** Its start, ISO 8601. */
  readonly hour: string;
  readonly succeeded: number;
  readonly failed: number;
  readonly reviews: number;
}

/** Number of due checks, or of pending deliveries, in one age group. */
export interface WaitingWork {
  readonly kind: 'check' | 'delivery';
  /** Index of the highest of the given ages that this work has reached; -1 if it has reached none of them. */
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
