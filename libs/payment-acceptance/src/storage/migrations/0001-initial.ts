import type { Migration } from '../migration.js';

/**
 * One row per bill, order, payment, callback, event and delivery. Times are on the database's clock.
 * Indexes that the workers use cover pending rows only, so their cost does not grow with history. A callback refers to
 * its bill without a foreign key: checking one locks the bill, and recording a callback must never wait for a bill.
 */
export const initial: Migration = {
  version: 1,
  name: 'initial',
  statements: [
    `CREATE TABLE payment_acceptance.shop_order (
      shop text NOT NULL,
      order_id text NOT NULL,
      first_payment_id text,
      first_paid_at timestamptz,
      PRIMARY KEY (shop, order_id)
    )`,
    `COMMENT ON TABLE payment_acceptance.shop_order IS
      'The lock of an order, taken before its bills, and the payment that paid it first.'`,
    `CREATE TABLE payment_acceptance.bill (
      id uuid PRIMARY KEY,
      shop text NOT NULL,
      order_id text NOT NULL,
      attempt integer NOT NULL,
      state text NOT NULL CHECK (state IN ('CREATING', 'OPEN', 'REJECTED', 'UNKNOWN', 'PAID', 'EXPIRED', 'VOIDED')),
      amount numeric(10,2) NOT NULL CHECK (amount > 0),
      currency text NOT NULL,
      payer_pays_commission boolean NOT NULL,
      description text,
      name text,
      type text NOT NULL,
      custom text NOT NULL,
      custom_given boolean NOT NULL,
      service_bill_id text,
      link_url text,
      link_page_url text,
      failure text,
      created_at timestamptz NOT NULL,
      opened_at timestamptz,
      paid_at timestamptz,
      ended_at timestamptz,
      next_check_at timestamptz,
      check_after timestamptz NOT NULL,
      checks integer NOT NULL DEFAULT 0,
      failed_checks integer NOT NULL DEFAULT 0,
      checked_at timestamptz,
      last_check_error text,
      lease_token uuid,
      lease_until timestamptz,
      FOREIGN KEY (shop, order_id) REFERENCES payment_acceptance.shop_order (shop, order_id),
      UNIQUE (shop, order_id, attempt),
      UNIQUE (shop, service_bill_id)
    )`,
    `CREATE INDEX bill_due ON payment_acceptance.bill (next_check_at) WHERE next_check_at IS NOT NULL`,
    `CREATE INDEX bill_creating ON payment_acceptance.bill (lease_until) WHERE state = 'CREATING'`,
    `CREATE TABLE payment_acceptance.payment (
      shop text NOT NULL,
      payment_id text NOT NULL,
      bill_id uuid NOT NULL REFERENCES payment_acceptance.bill (id),
      status text NOT NULL CHECK (status IN ('NEW', 'PROCESS', 'SUCCESS', 'FAIL', 'UNKNOWN')),
      amount numeric(10,2),
      amount_received numeric(10,2),
      commission numeric(10,2),
      currency text,
      from_card text,
      service_created_at text,
      service_status text,
      verdict text NOT NULL CHECK (verdict IN ('pending', 'failed', 'succeeded', 'review')),
      first_seen_at timestamptz NOT NULL,
      changed_at timestamptz NOT NULL,
      PRIMARY KEY (shop, payment_id)
    )`,
    `CREATE INDEX payment_of_bill ON payment_acceptance.payment (bill_id)`,
    `CREATE TABLE payment_acceptance.callback (
      id uuid PRIMARY KEY,
      kind text NOT NULL CHECK (kind IN ('redirect-success', 'redirect-fail', 'postback')),
      shop text NOT NULL,
      bill_id uuid,
      service_bill_id text,
      order_id text,
      status text,
      digest text NOT NULL CHECK (digest IN ('match', 'mismatch', 'absent')),
      corroboration jsonb NOT NULL,
      fields jsonb NOT NULL,
      received_at timestamptz NOT NULL,
      pending boolean NOT NULL,
      consumed_at timestamptz
    )`,
    `CREATE INDEX callback_hint ON payment_acceptance.callback (bill_id) WHERE pending AND bill_id IS NOT NULL`,
    `CREATE INDEX callback_unmatched ON payment_acceptance.callback (shop, service_bill_id)
      WHERE pending AND bill_id IS NULL`,
    `CREATE INDEX callback_of_bill ON payment_acceptance.callback (bill_id, received_at)`,
    `CREATE TABLE payment_acceptance.event (
      id uuid PRIMARY KEY,
      seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
      key text NOT NULL UNIQUE,
      name text NOT NULL,
      shop text NOT NULL,
      bill_id uuid NOT NULL REFERENCES payment_acceptance.bill (id),
      payload jsonb NOT NULL,
      occurred_at timestamptz NOT NULL
    )`,
    `CREATE INDEX event_of_bill ON payment_acceptance.event (bill_id, seq)`,
    `CREATE TABLE payment_acceptance.consumer (
      name text NOT NULL,
      event_name text NOT NULL,
      shops text[],
      registered_at timestamptz NOT NULL,
      last_seen_at timestamptz NOT NULL,
      PRIMARY KEY (name, event_name)
    )`,
    `CREATE TABLE payment_acceptance.delivery (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      event_id uuid NOT NULL REFERENCES payment_acceptance.event (id),
      event_name text NOT NULL,
      seq bigint NOT NULL,
      bill_id uuid NOT NULL,
      consumer text NOT NULL,
      state text NOT NULL CHECK (state IN ('PENDING', 'DONE', 'DEAD')),
      attempts integer NOT NULL DEFAULT 0,
      due_at timestamptz NOT NULL,
      lease_token uuid,
      lease_until timestamptz,
      last_error text,
      ended_at timestamptz,
      UNIQUE (event_id, consumer)
    )`,
    `CREATE INDEX delivery_due ON payment_acceptance.delivery (consumer, event_name, due_at, seq)
      WHERE state = 'PENDING'`,
    `CREATE INDEX delivery_order ON payment_acceptance.delivery (bill_id, consumer, seq) WHERE state = 'PENDING'`,
    `CREATE INDEX delivery_dead ON payment_acceptance.delivery (consumer, seq) WHERE state = 'DEAD'`,
    `CREATE TABLE payment_acceptance.review (
      id uuid PRIMARY KEY,
      key text NOT NULL UNIQUE,
      shop text NOT NULL,
      order_id text NOT NULL,
      bill_id uuid NOT NULL REFERENCES payment_acceptance.bill (id),
      payment_id text,
      reason text NOT NULL,
      detail jsonb NOT NULL,
      state text NOT NULL CHECK (state IN ('OPEN', 'ACCEPTED', 'DISMISSED')),
      opened_at timestamptz NOT NULL,
      closed_at timestamptz,
      closed_by text
    )`,
    `CREATE INDEX review_open ON payment_acceptance.review (opened_at) WHERE state = 'OPEN'`,
    `CREATE INDEX review_of_bill ON payment_acceptance.review (bill_id)`,
    `CREATE TABLE payment_acceptance.operator_action (
      id uuid PRIMARY KEY,
      at timestamptz NOT NULL,
      operator text NOT NULL,
      action text NOT NULL,
      target text NOT NULL,
      detail jsonb NOT NULL
    )`,
  ],
};
