import type { Migration } from '../../migration.js';

/** Compares bytes, including trailing blanks, as PostgreSQL does. One collation for all, so that joins use indexes. */
const TABLE_OPTIONS = 'ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin';
const INSTANT_TYPE = 'DATETIME(6)';
const MONEY_TYPE = 'DECIMAL(10,2)';
const UUID_TYPE = 'CHAR(36)';
const SHOP_TYPE = 'VARCHAR(64) NOT NULL';

function table(name: string, ...parts: string[]): string {
  return `CREATE TABLE IF NOT EXISTS payment_acceptance.${name} (${parts.join(', ')}) ${TABLE_OPTIONS}`;
}

/**
 * The same tables as on PostgreSQL. MariaDB commits each statement on its own, so each can be repeated: an interrupted
 * migration is run again from the start.
 *
 * MariaDB has no partial indexes. An index of pending rows begins with the column that marks them, or covers a
 * generated column that is NULL in all other rows: ended rows form a separate range, which no worker reads.
 */
export const initial: Migration = {
  version: 1,
  name: 'initial',
  statements: [
    table(
      'shop_order',
      `shop ${SHOP_TYPE}, order_id VARCHAR(255) NOT NULL, first_payment_id VARCHAR(128), cancelled_at ${INSTANT_TYPE}`,
      'PRIMARY KEY (shop, order_id)',
    ),
    table(
      'bill',
      `intent_id ${UUID_TYPE} PRIMARY KEY, shop ${SHOP_TYPE}, shop_id MEDIUMTEXT NOT NULL, order_id VARCHAR(255) NOT NULL`,
      'attempt INT NOT NULL',
      `state VARCHAR(16) NOT NULL CHECK (state IN ('CREATING', 'OPEN', 'REJECTED', 'UNKNOWN', 'PAID', 'EXPIRED', 'VOIDED'))`,
      `amount ${MONEY_TYPE} NOT NULL CHECK (amount > 0), currency VARCHAR(64) NOT NULL, payer_pays_commission BOOLEAN NOT NULL`,
      'description MEDIUMTEXT, name MEDIUMTEXT, type VARCHAR(64) NOT NULL, custom MEDIUMTEXT NOT NULL',
      'custom_given BOOLEAN NOT NULL, bill_id VARCHAR(255), link_url MEDIUMTEXT, link_page_url MEDIUMTEXT',
      `failure MEDIUMTEXT, created_at ${INSTANT_TYPE} NOT NULL, opened_at ${INSTANT_TYPE}, paid_at ${INSTANT_TYPE}, ended_at ${INSTANT_TYPE}, redacted_at ${INSTANT_TYPE}`,
      `next_check_at ${INSTANT_TYPE}, check_after ${INSTANT_TYPE} NOT NULL, checks INT NOT NULL DEFAULT 0`,
      `failed_checks INT NOT NULL DEFAULT 0, checked_at ${INSTANT_TYPE}, last_check_error MEDIUMTEXT`,
      `lease_token ${UUID_TYPE}, lease_until ${INSTANT_TYPE}, traceparent VARCHAR(255)`,
      `creating_until ${INSTANT_TYPE} AS (CASE WHEN state = 'CREATING' THEN lease_until END) STORED`,
      `unredacted_at ${INSTANT_TYPE} AS (CASE WHEN redacted_at IS NULL AND next_check_at IS NULL AND state NOT IN ('CREATING', 'UNKNOWN')
        THEN created_at END) VIRTUAL`,
      'FOREIGN KEY (shop, order_id) REFERENCES payment_acceptance.shop_order (shop, order_id)',
      'UNIQUE bill_of_order (shop, order_id, attempt), UNIQUE bill_of_service (shop, bill_id)',
      'INDEX bill_due (next_check_at), INDEX bill_due_of_shop (shop, next_check_at), INDEX bill_creating (creating_until)',
      'INDEX bill_newest (state, created_at, intent_id), INDEX bill_newest_of_shop (shop, state, created_at, intent_id)',
      'INDEX bill_failing (failed_checks, shop), INDEX bill_unredacted (unredacted_at)',
    ),
    table(
      'payment',
      `shop ${SHOP_TYPE}, payment_id VARCHAR(128) NOT NULL, intent_id ${UUID_TYPE} NOT NULL`,
      `status VARCHAR(16) NOT NULL CHECK (status IN ('NEW', 'PROCESS', 'SUCCESS', 'FAIL', 'UNKNOWN'))`,
      `amount ${MONEY_TYPE}, amount_received ${MONEY_TYPE}, commission ${MONEY_TYPE}, currency VARCHAR(255), from_card VARCHAR(255)`,
      `service_created_at VARCHAR(255), service_status VARCHAR(255), contradiction ${UUID_TYPE}`,
      `verdict VARCHAR(16) NOT NULL CHECK (verdict IN ('pending', 'failed', 'succeeded', 'review'))`,
      `first_seen_at ${INSTANT_TYPE} NOT NULL, changed_at ${INSTANT_TYPE} NOT NULL, PRIMARY KEY (shop, payment_id)`,
      'INDEX payment_of_bill (intent_id), FOREIGN KEY (intent_id) REFERENCES payment_acceptance.bill (intent_id)',
    ),
    table(
      'callback',
      `id ${UUID_TYPE} PRIMARY KEY, kind VARCHAR(16) NOT NULL, shop ${SHOP_TYPE}, intent_id ${UUID_TYPE}, bill_id TEXT`,
      'order_id MEDIUMTEXT, status TEXT, digest VARCHAR(8) NOT NULL, corroboration JSON NOT NULL, fields JSON NOT NULL',
      `received_at ${INSTANT_TYPE} NOT NULL, pending BOOLEAN NOT NULL, due_at ${INSTANT_TYPE} NOT NULL, asks INT NOT NULL DEFAULT 0`,
      `outcome VARCHAR(16), consumed_at ${INSTANT_TYPE}`,
      `unredacted_at ${INSTANT_TYPE} AS (CASE WHEN pending = 0 AND CHAR_LENGTH(fields) > 2 THEN received_at END) STORED`,
      'INDEX callback_due (pending, shop, due_at), INDEX callback_hint (pending, intent_id, due_at)',
      'INDEX callback_unmatched (pending, shop, bill_id(128)), INDEX callback_of_bill (intent_id, received_at)',
      'INDEX callback_consumed (pending, received_at), INDEX callback_unredacted (unredacted_at)',
    ),
    table(
      'lost_bill',
      `id ${UUID_TYPE} NOT NULL UNIQUE, shop ${SHOP_TYPE}, bill_id VARCHAR(128) NOT NULL`,
      `state VARCHAR(16) NOT NULL CHECK (state IN ('SOUGHT', 'LOST', 'DISMISSED')), asks INT NOT NULL`,
      `asked_at ${INSTANT_TYPE} NOT NULL, ask_after ${INSTANT_TYPE}, order_id MEDIUMTEXT, first_postback_at ${INSTANT_TYPE}`,
      `payments JSON, listed INT, found_at ${INSTANT_TYPE}, PRIMARY KEY (shop, bill_id)`,
      'INDEX lost_bill_found (state, found_at, id), INDEX lost_bill_again (shop, ask_after)',
    ),
    table(
      'shop_state',
      `shop VARCHAR(64) PRIMARY KEY, shop_id MEDIUMTEXT, api_base_url MEDIUMTEXT, next_request_at ${INSTANT_TYPE} NOT NULL`,
      `next_inquiry_at ${INSTANT_TYPE}, refused_since ${INSTANT_TYPE}, refused_reason MEDIUMTEXT, probe_at ${INSTANT_TYPE}`,
    ),
    table(
      'event',
      `id ${UUID_TYPE} PRIMARY KEY, seq BIGINT NOT NULL AUTO_INCREMENT UNIQUE, \`key\` VARCHAR(512) NOT NULL UNIQUE`,
      `name VARCHAR(64) NOT NULL, shop ${SHOP_TYPE}, intent_id ${UUID_TYPE} NOT NULL, payload JSON NOT NULL`,
      `occurred_at ${INSTANT_TYPE} NOT NULL, asserted_at ${INSTANT_TYPE}, traceparent VARCHAR(255), INDEX event_of_bill (intent_id, seq)`,
      'FOREIGN KEY (intent_id) REFERENCES payment_acceptance.bill (intent_id)',
    ),
    table(
      'consumer',
      `name VARCHAR(255) NOT NULL, event_name VARCHAR(64) NOT NULL, shops JSON, last_seen_at ${INSTANT_TYPE} NOT NULL`,
      'PRIMARY KEY (name, event_name)',
    ),
    table(
      'delivery',
      `id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, event_id ${UUID_TYPE} NOT NULL, event_name VARCHAR(64) NOT NULL`,
      `seq BIGINT NOT NULL, intent_id ${UUID_TYPE} NOT NULL, consumer VARCHAR(255) NOT NULL`,
      `state VARCHAR(8) NOT NULL CHECK (state IN ('PENDING', 'DONE', 'DEAD')), behind BOOLEAN NOT NULL DEFAULT FALSE`,
      `attempts INT NOT NULL DEFAULT 0, replays INT NOT NULL DEFAULT 0, due_at ${INSTANT_TYPE} NOT NULL, lease_token ${UUID_TYPE}`,
      `lease_until ${INSTANT_TYPE}, last_error MEDIUMTEXT, last_error_code VARCHAR(255), ended_at ${INSTANT_TYPE}`,
      'UNIQUE delivery_of_event (event_id, consumer)',
      'INDEX delivery_next (state, behind, consumer, event_name, due_at, seq)',
      'INDEX delivery_behind (state, behind, intent_id, consumer, seq), INDEX delivery_of_bill (intent_id, consumer, seq)',
      // For the oldest delivery that waits for each consumer, and the oldest with each error.
      'INDEX delivery_waiting (state, last_error_code, consumer, seq)',
      'INDEX delivery_dead (state, seq), INDEX delivery_done (state, ended_at)',
      'FOREIGN KEY (event_id) REFERENCES payment_acceptance.event (id)',
    ),
    table(
      'review',
      `id ${UUID_TYPE} PRIMARY KEY, \`key\` VARCHAR(512) NOT NULL UNIQUE, shop ${SHOP_TYPE}, order_id VARCHAR(255) NOT NULL`,
      `intent_id ${UUID_TYPE} NOT NULL, payment_id VARCHAR(128), reason VARCHAR(255) NOT NULL, detail JSON NOT NULL`,
      `state VARCHAR(16) NOT NULL CHECK (state IN ('OPEN', 'ACCEPTED', 'DISMISSED')), opened_at ${INSTANT_TYPE} NOT NULL`,
      `closed_at ${INSTANT_TYPE}, closed_by MEDIUMTEXT, INDEX review_open (state, opened_at), INDEX review_of_bill (intent_id)`,
      'FOREIGN KEY (intent_id) REFERENCES payment_acceptance.bill (intent_id)',
    ),
    table(
      'operator_action',
      `id ${UUID_TYPE} PRIMARY KEY, at ${INSTANT_TYPE} NOT NULL, operator MEDIUMTEXT NOT NULL, action VARCHAR(255) NOT NULL`,
      'target VARCHAR(512) NOT NULL, detail JSON NOT NULL',
      `noted_at ${INSTANT_TYPE} AS (CASE WHEN JSON_VALUE(detail, '$.note') <> '' THEN at END) VIRTUAL`,
      'INDEX operator_action_target (target), INDEX operator_action_at (at, id), INDEX operator_action_noted (noted_at)',
    ),
  ],
};
