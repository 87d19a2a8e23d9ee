import type { RecordedAction } from 'nestjs-payment-acceptance/operations';

/** Follows the operator's name in a sentence. */
export function actionTitle({ action, detail }: RecordedAction): string {
  switch (action) {
    case 'accept-review':
      return `accepted the review ${text(detail.reason)}`;
    case 'dismiss-review':
      return `dismissed the review ${text(detail.reason)}`;
    case 'attach-bill':
      return `attached bill ${text(detail.serviceBillId)}`;
    case 'void-bill':
      return 'voided the unknown outcome';
    case 'import-bill':
      return `imported bill ${text(detail.serviceBillId)}`;
    case 'dismiss-lost-bill':
      return `dismissed lost bill ${text(detail.serviceBillId)}`;
    case 'replay':
      return `replayed ${filterText(detail.filter)}`;
    case 'deliver-past-events': {
      const { consumer } = (detail.filter ?? {}) as Readonly<Record<string, unknown>>;
      return `delivered past events to ${text(consumer)}`;
    }
    case 'retire-consumer':
      return 'retired the consumer';
    case 'erase':
      return 'removed the personal data of the order';
    case 'recover':
      return `scheduled new checks of bills, to recover what changed since ${text(detail.since)}`;
    default:
      return action;
  }
}

export function filterText(filter: unknown): string {
  const { deliveryId, consumer, event, shop, orderId } = (filter ?? {}) as Readonly<Record<string, unknown>>;
  if (deliveryId !== undefined) return `dead letter ${text(deliveryId)}`;
  const parts = [
    consumer !== undefined && `consumer ${text(consumer)}`,
    event !== undefined && `event ${text(event)}`,
    orderId !== undefined && `order ${text(orderId)}`,
    shop !== undefined && `shop ${text(shop)}`,
  ].filter(Boolean);
  return parts.length === 0 ? 'all dead letters' : `the dead letters with ${parts.join(', ')}`;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '');
}
