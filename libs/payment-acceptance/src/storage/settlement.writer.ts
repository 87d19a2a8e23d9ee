import type { EntityManager } from 'typeorm';
import type { Settlement } from '../domain/settlement.js';

/** An event that is new, with the number of consumers that have a delivery of it. */
export interface AddedEvent {
  readonly id: string;
  readonly deliveries: number;
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
