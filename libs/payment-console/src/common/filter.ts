import type { DeadLetterFilter } from 'nestjs-payment-acceptance/operations';

/** Which dead letters an address is about. Not by their id: one has an address of its own. */
export type Filter = Pick<DeadLetterFilter, 'consumer' | 'event' | 'shop' | 'orderId'>;

const FIELDS = ['consumer', 'event', 'shop', 'orderId'] as const;

export function filterOf(query: URLSearchParams): Filter {
  const given = FIELDS.map((name) => [name, (query.get(name) ?? '').trim()] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== ''));
}
