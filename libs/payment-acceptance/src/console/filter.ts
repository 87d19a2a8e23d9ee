import type { DeadLetterFilter } from '../storage/operator.store.js';

/** Which dead letters an address is about. Not by their id: one has an address of its own. */
export type Filter = Pick<DeadLetterFilter, 'consumer' | 'event' | 'shop' | 'orderId'>;

const FIELDS = ['consumer', 'event', 'shop', 'orderId'] as const;

export function filterOf(query: URLSearchParams): Filter {
  const given = FIELDS.map((name) => [name, cleaned(query.get(name))] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== ''));
}

/** As a database takes it. */
function cleaned(text: string | null): string {
  return (text ?? '').replaceAll('\0', '').toWellFormed().trim();
}
