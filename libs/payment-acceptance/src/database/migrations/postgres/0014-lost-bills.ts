import type { Migration } from '../migration.js';

/**
 * Bills that postbacks name but the ledger lacks, once the service was asked for them; and when each shop's service may be
 * asked for the next one.
 */
export const lostBills: Migration = {
  version: 14,
  name: 'lost-bills',
  statements: [
    `SET LOCAL lock_timeout = '5s'`,
    `CREATE TABLE IF NOT EXISTS payment_acceptance.lost_bill (
      id uuid NOT NULL UNIQUE,
      shop text NOT NULL,
      service_bill_id text NOT NULL,
      state text NOT NULL CHECK (state IN ('SOUGHT', 'LOST', 'DISMISSED')),
      asks integer NOT NULL,
      asked_at timestamptz NOT NULL,
      ask_after timestamptz,
      order_id text,
      first_postback_at timestamptz,
      payments jsonb,
      listed integer,
      found_at timestamptz,
      PRIMARY KEY (shop, service_bill_id)
    )`,
    `COMMENT ON COLUMN payment_acceptance.lost_bill.order_id IS
      'The order that the first postback named. Anybody can send one: it proves nothing.'`,
    `CREATE INDEX IF NOT EXISTS lost_bill_found ON payment_acceptance.lost_bill (found_at, id) WHERE state = 'LOST'`,
    `CREATE INDEX IF NOT EXISTS lost_bill_again ON payment_acceptance.lost_bill (shop, ask_after)
      WHERE ask_after IS NOT NULL`,
    `ALTER TABLE payment_acceptance.shop_state ADD COLUMN IF NOT EXISTS next_inquiry_at timestamptz`,
  ],
};
