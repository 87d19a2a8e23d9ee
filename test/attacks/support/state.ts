import type { DataSource } from 'typeorm';

/** Everything that no attack may change: all but callbacks, and when and how often a bill was checked. */
const TABLES: Readonly<Record<string, { order: string; without: readonly string[] }>> = {
  'payment_acceptance.shop_order': { order: 'shop, order_id', without: [] },
  'payment_acceptance.bill': {
    order: 'intent_id',
    without: [
      'next_check_at',
      'check_after',
      'checks',
      'failed_checks',
      'checked_at',
      'last_check_error',
      'lease_token',
      'lease_until',
    ],
  },
  'payment_acceptance.payment': { order: 'shop, payment_id', without: [] },
  'payment_acceptance.event': { order: 'seq', without: [] },
  'payment_acceptance.delivery': { order: 'id', without: [] },
  'payment_acceptance.review': { order: '"key"', without: [] },
  'payment_acceptance.operator_action': { order: 'id', without: [] },
  shop_order: { order: 'id', without: [] },
  shop_order_event: { order: 'id', without: [] },
};

export type State = Readonly<Record<string, readonly object[]>>;

export async function stateOf(dataSource: DataSource): Promise<State> {
  const state: Record<string, readonly object[]> = {};
  for (const [table, { order, without }] of Object.entries(TABLES)) {
    const rows = await dataSource.query<{ row: object }[]>(
      `SELECT to_jsonb(t) AS row FROM ${table} t ORDER BY ${order}`,
    );
    state[table] = rows.map(({ row }) =>
      Object.fromEntries(Object.entries(row).filter(([column]) => !without.includes(column))),
    );
  }
  return state;
}
