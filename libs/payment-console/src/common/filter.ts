import type { DeadLetterFilter } from 'nestjs-payment-acceptance/operations';

/** Has no ids: a single dead letter has its own address. */
export type Filter = Pick<DeadLetterFilter, 'consumer' | 'event' | 'shop' | 'orderId'>;

const FIELDS = ['consumer', 'event', 'shop', 'orderId'] as const;

export function filterOf(query: URLSearchParams): Filter {
  const entries = FIELDS.map((name) => [name, query.get(name) ?? ''] as const).filter(
    ([, value]) => value.trim() !== '',
  );
  // Every space in an order id counts.
  return Object.fromEntries(entries.map(([name, value]) => [name, name === 'orderId' ? value : value.trim()]));
}
