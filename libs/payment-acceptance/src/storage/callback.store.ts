import type { CallbackKind, DigestCheck } from '../domain/callback.js';
import type { DecimalAmount } from '../domain/money.js';
import type { Database } from './database.js';
import { sql } from './statement.js';
import type { BillId, IntentId, OrderId } from '../domain/ids.js';

/** A callback as it is kept: without its digest, without a full card number. */
export interface NewCallback {
  readonly id: string;
  readonly kind: CallbackKind;
  readonly shop: string;
  /** Our bill, where the callback's route to it is our own record (redirects); else it is found by `billId`. */
  readonly intentId: IntentId | null;
  /** `TrsId` of a postback. */
  readonly billId: BillId | null;
  /** The order that it names, to be compared with ours. */
  readonly orderId: OrderId;
  /** The same, as it is kept. */
  readonly maskedOrderId: string;
  readonly status: string | null;
  readonly digest: DigestCheck;
  /** `OutSum` as an exact decimal(10,2); `null` where it is none, so that it agrees with no bill. */
  readonly amount: DecimalAmount | null;
  readonly currency: string | null;
  readonly custom: string | null;
  /** Everything that came, redacted. */
  readonly fields: object;
  /** Another integration has accepted it. It waits for a bill all the same: its creation may not have been answered yet. */
  readonly forwarded?: boolean;
}

/**
 * What became of a callback: tied to a bill, kept without one, or not kept since too many of its kind wait already. `repeated`: its
 * bill has enough callbacks, and one that is still to be checked asks for the same, so there is no row of its own.
 */
export type Recorded = 'matched' | 'unmatched' | 'full' | 'repeated';

/** How many callbacks are kept. */
export interface RecordLimits {
  /** Of a shop, while they wait for a bill that is not known; and as many of those that another integration has accepted. */
  readonly maxUnmatched: number;
  /** Of a bill, beside those that wait for their answer. */
  readonly maxPerBill: number;
}

/** How long a callback waits for a bill that cannot be checked, in milliseconds. */
export interface WaitingLimits {
  /** For one that is not known. */
  readonly unmatchedMs: number;
  /** For one that has no id at the service. */
  readonly unnamedMs: number;
}

/** One row per callback received, as long as they are not too many. Recording never waits for a bill and never changes one. */
export abstract class CallbackStore {
  constructor(protected readonly database: Database) {}

  /**
   * Stores a callback with its corroboration, and commits. Its row asks for a check of the bill.
   *
   * A bill that has `maxPerBill` of them gets another one only where none waits that asks for the same: one that no check
   * has been made for, and that the check which may be under way at this moment was not made for either, since that began
   * before it came (`check_after`). So a check that begins after the callback is certain, with a row of its own or without.
   * Its row then takes the place of a later one that has had its answer, or of two while there are more than that: the first
   * ones, and what was confirmed, stay.
   */
  abstract record(callback: NewCallback, limits: RecordLimits): Promise<Recorded>;

  /** Whether a bill of the shop has this id at the service. */
  async isOfOwnBill(shop: string, billId: BillId): Promise<boolean> {
    const own = await this.database.rows(
      sql`SELECT 1 FROM payment_acceptance.bill WHERE shop = ${shop} AND service_bill_id = ${billId}`,
      {},
    );
    return own.length > 0;
  }

  /** Where the trace of a callback's bill goes on; `null` where it has none. */
  async traceOf(id: string): Promise<string | null> {
    const [row] = await this.database.rows<{ traceparent: string | null }>(
      sql`SELECT b.traceparent FROM payment_acceptance.callback c JOIN payment_acceptance.bill b ON b.id = c.bill_id
       WHERE c.id = ${id}`,
      {},
    );
    return row?.traceparent ?? null;
  }

  /**
   * Gives up waiting for the bills of callbacks that came long ago: of postbacks whose bill is not known, and of redirects
   * whose bill never got an id at the service. They make room, and stay recorded. A bill that is attached or imported
   * after that is checked at once anyway.
   */
  abstract retireWaiting(after: WaitingLimits): Promise<void>;
}
