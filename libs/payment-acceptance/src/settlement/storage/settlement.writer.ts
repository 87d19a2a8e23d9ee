import type { Settlement } from '../../domain/settlement.js';
import type { Reservation } from '../../events/storage/delivery.store.js';
import type { OwnTransaction } from '../../database/own-transaction.js';

/** A newly stored event. */
export interface AddedEvent {
  readonly id: string;
  /** How many consumers get it. */
  readonly deliveries: number;
  /** The consumers for which it waits behind an earlier event of the bill. */
  readonly behind: readonly string[];
  /** The deliveries that were created as claimed. */
  readonly claimed: readonly { readonly id: string; readonly consumer: string }[];
}

/** The statements that write the decisions of settlements. Nothing else writes payments, events or reviews. */
export abstract class SettlementWriter {
  /**
   * Writes the settlements of any number of bills, which must be locked with their orders; returns the new events. Opens
   * each review once: a closed one stays closed.
   * @param reservation the deliveries to claim as they are created, unless the consumer has an earlier one of the bill
   * @throws ConcurrentChangeError if a payment was assigned to another bill after these bills were locked
   */
  abstract write(
    tx: OwnTransaction,
    settlements: readonly Settlement[],
    minGapMs: number,
    reservation: Reservation,
  ): Promise<readonly AddedEvent[]>;
}
