import type { DeadLetterFilter } from 'nestjs-payment-acceptance/operations';

/** Has no ids: a single dead letter has its own address. */
export type Filter = Pick<DeadLetterFilter, 'consumer' | 'event' | 'shop' | 'orderId'>;

const FIELDS = ['consumer', 'event', 'shop', 'orderId'] as const;

export function filterOf(query: URLSearchParams): Filter {
  const entries = FIELDS.map((name) => [name, (query.get(name) ?? '').trim()] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== ''));
}
