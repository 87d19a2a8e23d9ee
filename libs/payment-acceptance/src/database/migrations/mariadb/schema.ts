import type { Migration } from '../migration.js';

/** Compares bytes, including trailing blanks, as PostgreSQL does. The same collation everywhere, so that joins use indexes. */
const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin';
const AT = 'DATETIME(6)';
const MONEY = 'DECIMAL(10,2)';
const UUID = 'CHAR(36)';
const SHOP = 'VARCHAR(64) NOT NULL';

function table(name: string, ...parts: string[]): string {
  return `CREATE TABLE IF NOT EXISTS payment_acceptance.${name} (${parts.join(', ')}) ${TABLE}`;
}

/**
 * The tables as PostgreSQL has them after the same version: where every installation began. Later changes are migrations of
 * their own, listed in `migrate.ts`. Each statement is atomic and may be repeated: MariaDB commits
 * each on its own, so an interrupted migration starts again.
 *
 * MariaDB has no partial indexes. An index of pending rows begins with the column that marks them, or covers a generated
 * column that is NULL in all other rows: ended rows form a separate range, which no worker reads.
 */
export const mariaSchema: Migration = {
  version: 5,
  name: 'mariadb',
  statements: [
    table(
      'shop_order',
      `shop ${SHOP}, order_id VARCHAR(255) NOT NULL, first_payment_id VARCHAR(128), first_paid_at ${AT}`,
      'PRIMARY KEY (shop, order_id)',
    ),
    table(
      'bill',
      `id ${UUID} PRIMARY KEY, shop ${SHOP}, order_id VARCHAR(255) NOT NULL, attempt INT NOT NULL`,
      `state VARCHAR(16) NOT NULL CHECK (state IN ('CREATING', 'OPEN', 'REJECTED', 'UNKNOWN', 'PAID', 'EXPIRED', 'VOIDED'))`,
      `amount ${MONEY} NOT NULL CHECK (amount > 0), currency VARCHAR(64) NOT NULL, payer_pays_commission BOOLEAN NOT NULL`,
      'description MEDIUMTEXT, name MEDIUMTEXT, type VARCHAR(64) NOT NULL, custom MEDIUMTEXT NOT NULL',
      'custom_given BOOLEAN NOT NULL, service_bill_id VARCHAR(255), link_url MEDIUMTEXT, link_page_url MEDIUMTEXT',
      `failure MEDIUMTEXT, created_at ${AT} NOT NULL, opened_at ${AT}, paid_at ${AT}, ended_at ${AT}, next_check_at ${AT}`,
      `check_after ${AT} NOT NULL, checks INT NOT NULL DEFAULT 0, failed_checks INT NOT NULL DEFAULT 0, checked_at ${AT}`,
      `last_check_error MEDIUMTEXT, lease_token ${UUID}, lease_until ${AT}, traceparent VARCHAR(255)`,
      `creating_until ${AT} AS (CASE WHEN state = 'CREATING' THEN lease_until END) STORED`,
      'FOREIGN KEY (shop, order_id) REFERENCES payment_acceptance.shop_order (shop, order_id)',
      'UNIQUE bill_of_order (shop, order_id, attempt), UNIQUE bill_of_service (shop, service_bill_id)',
      'INDEX bill_due (next_check_at), INDEX bill_due_of_shop (shop, next_check_at), INDEX bill_creating (creating_until)',
      'INDEX bill_newest (state, created_at, id), INDEX bill_newest_of_shop (shop, state, created_at, id)',
    ),
    table(
      'payment',
      `shop ${SHOP}, payment_id VARCHAR(128) NOT NULL, bill_id ${UUID} NOT NULL`,
      `status VARCHAR(16) NOT NULL CHECK (status IN ('NEW', 'PROCESS', 'SUCCESS', 'FAIL', 'UNKNOWN'))`,
      `amount ${MONEY}, amount_received ${MONEY}, commission ${MONEY}, currency VARCHAR(255), from_card VARCHAR(255)`,
      'service_created_at VARCHAR(255), service_status VARCHAR(255)',
      `verdict VARCHAR(16) NOT NULL CHECK (verdict IN ('pending', 'failed', 'succeeded', 'review'))`,
      `first_seen_at ${AT} NOT NULL, changed_at ${AT} NOT NULL, PRIMARY KEY (shop, payment_id)`,
      'INDEX payment_of_bill (bill_id), FOREIGN KEY (bill_id) REFERENCES payment_acceptance.bill (id)',
    ),
    table(
      'callback',
      `id ${UUID} PRIMARY KEY, kind VARCHAR(16) NOT NULL, shop ${SHOP}, bill_id ${UUID}, service_bill_id TEXT`,
      'order_id MEDIUMTEXT, status TEXT, digest VARCHAR(8) NOT NULL, corroboration JSON NOT NULL, fields JSON NOT NULL',
      `received_at ${AT} NOT NULL, pending BOOLEAN NOT NULL, due_at ${AT} NOT NULL, asks INT NOT NULL DEFAULT 0`,
      `outcome VARCHAR(16), consumed_at ${AT}`,
      `unredacted_at ${AT} AS (CASE WHEN pending = 0 AND CHAR_LENGTH(fields) > 2 THEN received_at END) STORED`,
      'INDEX callback_due (pending, shop, due_at), INDEX callback_hint (pending, bill_id, due_at)',
      'INDEX callback_unmatched (pending, shop, service_bill_id(128)), INDEX callback_of_bill (bill_id, received_at)',
      'INDEX callback_consumed (pending, received_at), INDEX callback_unredacted (unredacted_at)',
    ),
    table(
      'event',
      `id ${UUID} PRIMARY KEY, seq BIGINT NOT NULL AUTO_INCREMENT UNIQUE, \`key\` VARCHAR(512) NOT NULL UNIQUE`,
      `name VARCHAR(64) NOT NULL, shop ${SHOP}, bill_id ${UUID} NOT NULL, payload JSON NOT NULL, occurred_at ${AT} NOT NULL`,
      'traceparent VARCHAR(255), INDEX event_of_bill (bill_id, seq)',
      'FOREIGN KEY (bill_id) REFERENCES payment_acceptance.bill (id)',
    ),
    table(
      'shop_state',
      `shop VARCHAR(64) PRIMARY KEY, next_request_at ${AT} NOT NULL, refused_since ${AT}, refused_reason MEDIUMTEXT, probe_at ${AT}`,
    ),
    table(
      'consumer',
      'name VARCHAR(255) NOT NULL, event_name VARCHAR(64) NOT NULL, shops JSON',
      `registered_at ${AT} NOT NULL, last_seen_at ${AT} NOT NULL, PRIMARY KEY (name, event_name)`,
    ),
    table(
      'delivery',
      `id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, event_id ${UUID} NOT NULL, event_name VARCHAR(64) NOT NULL`,
      `seq BIGINT NOT NULL, bill_id ${UUID} NOT NULL, consumer VARCHAR(255) NOT NULL`,
      `state VARCHAR(8) NOT NULL CHECK (state IN ('PENDING', 'DONE', 'DEAD')), attempts INT NOT NULL DEFAULT 0`,
      `replays INT NOT NULL DEFAULT 0, due_at ${AT} NOT NULL, lease_token ${UUID}, lease_until ${AT}`,
      `last_error MEDIUMTEXT, ended_at ${AT}, UNIQUE delivery_of_event (event_id, consumer)`,
      'INDEX delivery_due (state, consumer, event_name, due_at, seq), INDEX delivery_of_bill (bill_id, consumer, seq)',
      'INDEX delivery_dead (state, seq), INDEX delivery_done (state, ended_at)',
      'FOREIGN KEY (event_id) REFERENCES payment_acceptance.event (id)',
    ),
    table(
      'review',
      `id ${UUID} PRIMARY KEY, \`key\` VARCHAR(512) NOT NULL UNIQUE, shop ${SHOP}, order_id VARCHAR(255) NOT NULL`,
      `bill_id ${UUID} NOT NULL, payment_id VARCHAR(128), reason VARCHAR(255) NOT NULL, detail JSON NOT NULL`,
      `state VARCHAR(16) NOT NULL CHECK (state IN ('OPEN', 'ACCEPTED', 'DISMISSED')), opened_at ${AT} NOT NULL`,
      `closed_at ${AT}, closed_by MEDIUMTEXT, INDEX review_open (state, opened_at), INDEX review_of_bill (bill_id)`,
      'FOREIGN KEY (bill_id) REFERENCES payment_acceptance.bill (id)',
    ),
    table(
      'operator_action',
      `id ${UUID} PRIMARY KEY, at ${AT} NOT NULL, operator MEDIUMTEXT NOT NULL, action VARCHAR(255) NOT NULL`,
      'target VARCHAR(512) NOT NULL, detail JSON NOT NULL',
      'INDEX operator_action_target (target), INDEX operator_action_at (at, id)',
    ),
  ],
};
