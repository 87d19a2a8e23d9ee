import type { RecordedAction } from 'nestjs-payment-acceptance/operations';
import { textOf } from './text.js';

const TITLES = new Map<string, (detail: RecordedAction['detail']) => string>([
  [
    'accept-review',
    ({ reason, amount }) =>
      `accepted the review ${textOf(reason)}${amount === undefined ? '' : `: ${textOf(amount)} counts`}`,
  ],
  ['dismiss-review', ({ reason }) => `dismissed the review ${textOf(reason)}`],
  ['attach-bill', ({ serviceBillId }) => `attached bill ${textOf(serviceBillId)}`],
  ['void-bill', () => 'voided the unknown outcome'],
  ['import-bill', ({ serviceBillId }) => `imported bill ${textOf(serviceBillId)}`],
  ['dismiss-lost-bill', ({ serviceBillId }) => `dismissed lost bill ${textOf(serviceBillId)}`],
  ['replay', ({ filter }) => `replayed ${filterText(filter)}`],
  ['deliver-past-events', ({ filter }) => `delivered past events to ${textOf(fieldsOf(filter).consumer)}`],
  ['retire-consumer', () => 'retired the consumer'],
  ['erase', () => 'removed the personal data of the order'],
  ['recover', ({ since }) => `scheduled new checks of bills, to recover what changed since ${textOf(since)}`],
]);

/** Follows the operator's name in a sentence. */
export function actionTitle({ action, detail }: RecordedAction): string {
  return TITLES.get(action)?.(detail) ?? action;
}

export function filterText(filter: unknown): string {
  const { deliveryId, consumer, event, shop, orderId } = fieldsOf(filter);
  if (deliveryId !== undefined) return `dead letter ${textOf(deliveryId)}`;
  const parts = [
    consumer !== undefined && `consumer ${textOf(consumer)}`,
    event !== undefined && `event ${textOf(event)}`,
    orderId !== undefined && `order ${textOf(orderId)}`,
    shop !== undefined && `shop ${textOf(shop)}`,
  ].filter(Boolean);
  return parts.length === 0 ? 'all dead letters' : `the dead letters with ${parts.join(', ')}`;
}

function fieldsOf(filter: unknown): Readonly<Record<string, unknown>> {
  return (filter ?? {}) as Readonly<Record<string, unknown>>;
}
