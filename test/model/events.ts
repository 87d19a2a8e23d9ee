import type { World } from './world.js';

export interface EventRow {
  readonly id: string;
  readonly seq: number;
  readonly name: string;
  readonly shop: string;
  readonly billId: string;
  /** The same for all events of one settlement. */
  readonly at: string;
  readonly data: {
    readonly paymentId?: string;
    readonly firstForOrder?: boolean;
    readonly reviewId?: string;
    readonly acceptedBy?: string;
  };
}

/** All events of all bills, in their order. */
export function readEvents(world: World): Promise<EventRow[]> {
  return world.query<EventRow>(
    `SELECT e.id, e.seq::int AS seq, e.name, e.shop, b.bill_id AS "billId", e.payload AS data, e.occurred_at::text AS at
     FROM payment_acceptance.event e JOIN payment_acceptance.bill b ON b.intent_id = e.intent_id ORDER BY e.seq`,
  );
}

export function named(events: readonly EventRow[], name: string): EventRow[] {
  return events.filter((event) => event.name === name);
}
