import type { EntityManager } from 'typeorm';
import type { Settlement } from '../domain/settlement.js';

/** An event that is new. */
export interface AddedEvent {
  readonly id: string;
  /** How many consumers have a delivery of it. */
  readonly deliveries: number;
  /** Those of them for which it waits behind an earlier event of the bill. */
  readonly behind: readonly string[];
}

/** The statements that write what a settlement has decided: everything that writes payments, events and reviews is in here. */
export abstract class SettlementWriter {
  /**
   * Writes what was decided, of any number of bills, whose orders and themselves are locked; gives the events that are new.
   * Opens each review once: one that a person has closed stays closed.
   * @throws ConcurrentChangeError where a payment has become another bill's since the bills were locked
   */
  abstract write(
    manager: EntityManager,
    settlements: readonly Settlement[],
    minGapMs: number,
  ): Promise<readonly AddedEvent[]>;
}
