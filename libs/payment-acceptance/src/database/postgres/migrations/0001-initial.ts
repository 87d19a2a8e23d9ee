import type { Migration } from '../../migration.js';

/**
 * Times are on the database's clock. `intent_id` is our id of a bill, `bill_id` the service's. Indexes of workers cover
 * only the rows that wait, so that they do not grow with history, and none covers a column that a claim writes: a claim
 * is then a HOT update, for which pages of `bill` and `delivery` have room. A callback refers to its bill without a
 * foreign key: verifying one locks the bill, and recording a callback must never wait for a bill.
 */
export const initial: Migration = {
  version: 1,
  name: 'initial',
  statements: [
    `CREATE TABLE payment_acceptance.shop_order (
      shop text NOT NULL,
      order_id text NOT NULL,
      first_payment_id text,
      cancelled_at timestamptz,
      PRIMARY KEY (shop, order_id)
    )`,
    `COMMENT ON TABLE payment_acceptance.shop_order IS
      'The lock of an order, taken before its bills, and the payment that paid it first.'`,
    `CREATE TABLE payment_acceptance.bill (
      intent_id uuid PRIMARY KEY,
      shop text NOT NULL,
      shop_id text NOT NULL,
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
      bill_id text,
      link_url text,
      link_page_url text,
      failure text,
      created_at timestamptz NOT NULL,
      opened_at timestamptz,
      paid_at timestamptz,
      ended_at timestamptz,
      redacted_at timestamptz,
      next_check_at timestamptz,
      check_after timestamptz NOT NULL,
      checks integer NOT NULL DEFAULT 0,
      failed_checks integer NOT NULL DEFAULT 0,
      checked_at timestamptz,
      last_check_error text,
      lease_token uuid,
      lease_until timestamptz,
      traceparent text,
      FOREIGN KEY (shop, order_id) REFERENCES payment_acceptance.shop_order (shop, order_id),
      UNIQUE (shop, order_id, attempt),
      UNIQUE (shop, bill_id)
    ) WITH (fillfactor = 80)`,
    `COMMENT ON COLUMN payment_acceptance.bill.shop_id IS
      'The service''s id of the shop when the bill was made. The ids of its events are made of it.'`,
    `COMMENT ON COLUMN payment_acceptance.bill.redacted_at IS
      'When its personal data was removed. What is learned of the bill later is stored without any.'`,
    `CREATE INDEX bill_due ON payment_acceptance.bill (next_check_at) WHERE next_check_at IS NOT NULL`,
    `CREATE INDEX bill_due_of_shop ON payment_acceptance.bill (shop, next_check_at) WHERE next_check_at IS NOT NULL`,
    `CREATE INDEX bill_failing ON payment_acceptance.bill (shop) WHERE failed_checks >= 5 AND next_check_at IS NOT NULL`,
    `CREATE INDEX bill_newest ON payment_acceptance.bill (state, created_at, intent_id)`,
    `CREATE INDEX bill_newest_of_shop ON payment_acceptance.bill (shop, state, created_at, intent_id)`,
    `CREATE INDEX bill_unredacted ON payment_acceptance.bill (created_at)
      WHERE redacted_at IS NULL AND next_check_at IS NULL AND state NOT IN ('CREATING', 'UNKNOWN')`,
    `CREATE TABLE payment_acceptance.payment (
      shop text NOT NULL,
      payment_id text NOT NULL,
      intent_id uuid NOT NULL REFERENCES payment_acceptance.bill (intent_id),
      status text NOT NULL CHECK (status IN ('NEW', 'PROCESS', 'SUCCESS', 'FAIL', 'UNKNOWN')),
      amount numeric(10,2),
      amount_received numeric(10,2),
      commission numeric(10,2),
      currency text,
      from_card text,
      service_created_at text,
      service_status text,
      contradiction uuid,
      verdict text NOT NULL CHECK (verdict IN ('pending', 'failed', 'succeeded', 'review')),
      first_seen_at timestamptz NOT NULL,
      changed_at timestamptz NOT NULL,
      PRIMARY KEY (shop, payment_id)
    )`,
    `COMMENT ON COLUMN payment_acceptance.payment.contradiction IS
      'What the service has listed last that contradicts the settled payment, as a hash: each change is told once.'`,
    `CREATE INDEX payment_of_bill ON payment_acceptance.payment (intent_id)`,
    `CREATE TABLE payment_acceptance.callback (
      id uuid PRIMARY KEY,
      kind text NOT NULL CHECK (kind IN ('redirect-success', 'redirect-fail', 'postback')),
      shop text NOT NULL,
      intent_id uuid,
      bill_id text,
      order_id text,
      status text,
      digest text NOT NULL CHECK (digest IN ('match', 'mismatch', 'absent')),
      corroboration jsonb NOT NULL,
      fields jsonb NOT NULL,
      received_at timestamptz NOT NULL,
      pending boolean NOT NULL,
      due_at timestamptz NOT NULL,
      asks integer NOT NULL DEFAULT 0,
      outcome text CHECK (outcome IN ('confirmed', 'unconfirmed')),
      consumed_at timestamptz
    )`,
    `COMMENT ON COLUMN payment_acceptance.callback.bill_id IS
      'The service''s bill that the callback names. Anybody can send one: it proves nothing.'`,
    `CREATE INDEX callback_due ON payment_acceptance.callback (shop, due_at) WHERE pending AND intent_id IS NOT NULL`,
    `CREATE INDEX callback_unmatched ON payment_acceptance.callback (shop, bill_id) WHERE pending AND intent_id IS NULL`,
    `CREATE INDEX callback_of_bill ON payment_acceptance.callback (intent_id, received_at)`,
    `CREATE INDEX callback_consumed ON payment_acceptance.callback (received_at) WHERE NOT pending`,
    `CREATE INDEX callback_unredacted ON payment_acceptance.callback (received_at)
      WHERE NOT pending AND fields <> '{}'::jsonb`,
    `CREATE TABLE payment_acceptance.lost_bill (
      id uuid NOT NULL UNIQUE,
      shop text NOT NULL,
      bill_id text NOT NULL,
      state text NOT NULL CHECK (state IN ('SOUGHT', 'LOST', 'DISMISSED')),
      asks integer NOT NULL,
      asked_at timestamptz NOT NULL,
      ask_after timestamptz,
      order_id text,
      first_postback_at timestamptz,
      payments jsonb,
      listed integer,
      found_at timestamptz,
      PRIMARY KEY (shop, bill_id)
    )`,
    `COMMENT ON TABLE payment_acceptance.lost_bill IS
      'Bills that postbacks name and the ledger lacks, once the service was asked for them.'`,
    `COMMENT ON COLUMN payment_acceptance.lost_bill.order_id IS
      'The order that the first postback named. Anybody can send one: it proves nothing.'`,
    `CREATE INDEX lost_bill_found ON payment_acceptance.lost_bill (found_at, id) WHERE state = 'LOST'`,
    `CREATE INDEX lost_bill_again ON payment_acceptance.lost_bill (shop, ask_after) WHERE ask_after IS NOT NULL`,
    `CREATE TABLE payment_acceptance.shop_state (
      shop text PRIMARY KEY,
      shop_id text,
      api_base_url text,
      next_request_at timestamptz NOT NULL,
      next_inquiry_at timestamptz,
      refused_since timestamptz,
      refused_reason text,
      probe_at timestamptz
    )`,
    `COMMENT ON COLUMN payment_acceptance.shop_state.next_inquiry_at IS
      'When the service may be asked for the next bill that the ledger lacks.'`,
    `CREATE TABLE payment_acceptance.event (
      id uuid PRIMARY KEY,
      seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
      key text NOT NULL UNIQUE,
      name text NOT NULL,
      shop text NOT NULL,
      intent_id uuid NOT NULL REFERENCES payment_acceptance.bill (intent_id),
      payload jsonb NOT NULL,
      occurred_at timestamptz NOT NULL,
      asserted_at timestamptz,
      traceparent text
    )`,
    `COMMENT ON COLUMN payment_acceptance.event.asserted_at IS
      'When a callback first asserted the outcome, so that its delivery shows how long the payer has waited.'`,
    `CREATE INDEX event_of_bill ON payment_acceptance.event (intent_id, seq)`,
    `CREATE TABLE payment_acceptance.consumer (
      name text NOT NULL,
      event_name text NOT NULL,
      shops text[],
      last_seen_at timestamptz NOT NULL,
      PRIMARY KEY (name, event_name)
    )`,
    `CREATE TABLE payment_acceptance.delivery (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      event_id uuid NOT NULL REFERENCES payment_acceptance.event (id),
      event_name text NOT NULL,
      seq bigint NOT NULL,
      intent_id uuid NOT NULL,
      consumer text NOT NULL,
      state text NOT NULL CHECK (state IN ('PENDING', 'DONE', 'DEAD')),
      behind boolean NOT NULL DEFAULT false,
      attempts integer NOT NULL DEFAULT 0,
      replays integer NOT NULL DEFAULT 0,
      due_at timestamptz NOT NULL,
      lease_token uuid,
      lease_until timestamptz,
      last_error text,
      last_error_code text,
      ended_at timestamptz,
      UNIQUE (event_id, consumer)
    ) WITH (fillfactor = 80)`,
    `COMMENT ON COLUMN payment_acceptance.delivery.behind IS
      'An earlier delivery of the bill to the consumer is pending, so that claims read the heads of queues only.'`,
    // Conditions on the state are phrased differently, so that a claim never uses the index of all waiting deliveries.
    `CREATE INDEX delivery_next ON payment_acceptance.delivery (consumer, event_name, due_at, seq)
      WHERE state NOT IN ('DONE', 'DEAD') AND NOT behind`,
    `CREATE INDEX delivery_behind ON payment_acceptance.delivery (intent_id, consumer, seq) WHERE behind`,
    `CREATE INDEX delivery_of_bill ON payment_acceptance.delivery (intent_id, consumer, seq)`,
    `CREATE INDEX delivery_waiting ON payment_acceptance.delivery (consumer, seq) WHERE state = 'PENDING'`,
    `CREATE INDEX delivery_failing ON payment_acceptance.delivery (consumer, seq)
      WHERE state = 'PENDING' AND last_error_code IS NOT NULL`,
    `CREATE INDEX delivery_dead_in_order ON payment_acceptance.delivery (seq, id) WHERE state = 'DEAD'`,
    `CREATE INDEX delivery_done ON payment_acceptance.delivery (ended_at) WHERE state = 'DONE'`,
    `CREATE TABLE payment_acceptance.review (
      id uuid PRIMARY KEY,
      key text NOT NULL UNIQUE,
      shop text NOT NULL,
      order_id text NOT NULL,
      intent_id uuid NOT NULL REFERENCES payment_acceptance.bill (intent_id),
      payment_id text,
      reason text NOT NULL,
      detail jsonb NOT NULL,
      state text NOT NULL CHECK (state IN ('OPEN', 'ACCEPTED', 'DISMISSED')),
      opened_at timestamptz NOT NULL,
      closed_at timestamptz,
      closed_by text
    )`,
    `CREATE INDEX review_open ON payment_acceptance.review (opened_at) WHERE state = 'OPEN'`,
    `CREATE INDEX review_of_bill ON payment_acceptance.review (intent_id)`,
    `CREATE TABLE payment_acceptance.operator_action (
      id uuid PRIMARY KEY,
      at timestamptz NOT NULL,
      operator text NOT NULL,
      action text NOT NULL,
      target text NOT NULL,
      detail jsonb NOT NULL
    )`,
    `CREATE INDEX operator_action_target ON payment_acceptance.operator_action (target)`,
    `CREATE INDEX operator_action_at ON payment_acceptance.operator_action (at, id)`,
    `CREATE INDEX operator_action_noted ON payment_acceptance.operator_action (at) WHERE (detail ->> 'note') <> ''`,
  ],
};
