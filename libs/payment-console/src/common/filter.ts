import type { DeadLetterFilter } from 'nestjs-payment-acceptance/operations';

/** The dead letters that an address selects. Not by id: a single one has its own address. */
export type Filter = Pick<DeadLetterFilter, 'consumer' | 'event' | 'shop' | 'orderId'>;

const FIELDS = ['consumer', 'event', 'shop', 'orderId'] as const;

export function filterOf(query: URLSearchParams): Filter {
  const given = FIELDS.map((name) => [name, (query.get(name) ?? '').trim()] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== ''));
}
