import type { DataSource } from 'typeorm';
import { deliveryId } from '../../../libs/payment-acceptance/src/domain/event-id.js';
import type { Tables } from './history.js';

/** Reads what the tables contain in the end. */
export async function readTables(database: DataSource): Promise<Tables> {
  const read = <Row>(sql: string): Promise<Row[]> => database.query(sql);
  const parsed = (value: unknown): Record<string, unknown> =>
    (typeof value === 'string' ? JSON.parse(value) : value) as Record<string, unknown>;
  const [bills, events, reviews, deliveries, effects, callbacks, actions] = await Promise.all([
    read<Tables['bills'][number]>(
      `SELECT shop, order_id AS "orderId", bill_id AS "billId" FROM payment_acceptance.bill`,
    ),
    read<{ id: string; name: string; billId: string; payload: unknown }>(
      `SELECT e.id, e.name, b.bill_id AS "billId", e.payload
       FROM payment_acceptance.event e JOIN payment_acceptance.bill b ON b.intent_id = e.intent_id`,
    ),
    read<Tables['reviews'][number]>(
      `SELECT r.id, r.payment_id AS "paymentId", r.state, b.bill_id AS "billId"
       FROM payment_acceptance.review r JOIN payment_acceptance.bill b ON b.intent_id = r.intent_id`,
    ),
    read<{ eventId: string; consumer: string; replays: number }>(
      `SELECT event_id AS "eventId", consumer, replays FROM payment_acceptance.delivery`,
    ),
    read<Tables['effects'][number]>('SELECT consumer, event AS "eventId" FROM effect'),
    read<{ billId: string | null; fields: unknown }>(
      `SELECT bill_id AS "billId", fields FROM payment_acceptance.callback`,
    ),
    read<{ action: string; target: string; detail: unknown }>(
      'SELECT action, target, detail FROM payment_acceptance.operator_action',
    ),
  ]);
  return {
    ...{ bills, reviews, effects },
    deliveries: deliveries.map((each) => ({ ...each, id: deliveryId(each.eventId, each.consumer) })),
    events: events.map(({ payload, ...event }) => ({
      ...event,
      paymentId: (parsed(payload)['paymentId'] as string | undefined) ?? null,
    })),
    callbacks: callbacks.map(({ billId, fields }) => {
      const { custom } = parsed(fields);
      return { billId, mark: typeof custom === 'string' && custom.startsWith('mark-') ? custom : null };
    }),
    // The replay of one delivery is recorded of its bill.
    actions: actions.map(({ action, target, detail }) => {
      const { note, filter } = parsed(detail) as { note: string; filter?: { deliveryId?: string } };
      return { action, target: filter?.deliveryId ?? target, note };
    }),
  };
}
