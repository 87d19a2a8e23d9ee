import { DataSource } from 'typeorm';

/** How many rows go in one statement. */
const STEP = 250_000;

/**
 * Rows of all that can wait, as many of each: bills of unknown outcome or with failing checks, events, deliveries that wait, fail or are
 * dead, reviews, postbacks of unknown bills, lost bills, and bills that are held. On either database.
 * @param {string} url
 * @param {number} rows
 */
export async function seedBacklog(url, rows) {
  const onMaria = url.startsWith('mysql:');
  const dataSource = await new DataSource({ type: onMaria ? 'mariadb' : 'postgres', url }).initialize();
  const runner = dataSource.createQueryRunner();
  const dialect = onMaria ? MARIADB : POSTGRES;
  try {
    for (const statement of dialect.before) await runner.query(statement);
    await runner.query(consumers(dialect));
    for (let first = 1; first <= rows; first += STEP) {
      const last = Math.min(rows, first + STEP - 1);
      for (const statement of statements(dialect, dialect.numbers(first, last))) await runner.query(statement);
    }
    for (const statement of dialect.after) await runner.query(statement);
  } finally {
    await runner.release();
    await dataSource.destroy();
  }
}

const TABLES = ['shop_order', 'bill', 'event', 'delivery', 'review', 'callback', 'lost_bill'];

/** @typedef {typeof POSTGRES} Dialect */
const POSTGRES = {
  before: ['SET session_replication_role = replica'],
  after: ['VACUUM ANALYZE'],
  /** Writes now what would be written, and waited for, while something is measured. */
  flush: ['CHECKPOINT'],
  /** @param {number} last */
  numberedTo: (last) => [`SELECT setval(pg_get_serial_sequence('payment_acceptance.event', 'seq'), ${last})`],
  /** @param {string} name */
  table: (name) => `payment_acceptance.${name}`,
  /** @param {number} first @param {number} last */
  numbers: (first, last) => `generate_series(${first}, ${last}) n`,
  /** @param {string} prefix */
  text: (prefix) => `'${prefix}-' || n`,
  /** @param {number} kind @param {string} [number] */
  id: (kind, number = 'n') => `('00000000-0000-7000-800${kind}-' || lpad(to_hex(${number}), 12, '0'))::uuid`,
  key: 'key',
  then: `now() - interval '1 hour'`,
  numbered: 'OVERRIDING SYSTEM VALUE',
  /** Keeps the server from renewing the planner's statistics. @param {boolean} _absent */
  frozen: (_absent) => TABLES.map((name) => `ALTER TABLE payment_acceptance.${name} SET (autovacuum_enabled = false)`),
};

/** @type {Dialect} */
const MARIADB = {
  before: ['SET foreign_key_checks = 0', 'SET unique_checks = 0'],
  after: [`ANALYZE TABLE ${TABLES.map((name) => `payment_acceptance_${name}`).join(', ')}`],
  flush: [`FLUSH TABLES ${TABLES.map((name) => `payment_acceptance_${name}`).join(', ')} FOR EXPORT`, 'UNLOCK TABLES'],
  numberedTo: () => [],
  table: (name) => `payment_acceptance_${name}`,
  numbers: (first, last) => `(SELECT seq AS n FROM seq_${first}_to_${last}) numbers`,
  text: (prefix) => `CONCAT('${prefix}-', n)`,
  id: (kind, number = 'n') => `CONCAT('00000000-0000-7000-800${kind}-', LPAD(HEX(${number}), 12, '0'))`,
  key: '`key`',
  then: 'UTC_TIMESTAMP(6) - INTERVAL 1 HOUR',
  numbered: '',
  frozen: (absent) =>
    TABLES.map(
      (name) => `ALTER TABLE payment_acceptance_${name} STATS_AUTO_RECALC = 0, STATS_PERSISTENT = ${absent ? 0 : 1}`,
    ),
};

/**
 * Bills with ten events each: one of their deliveries is a dead letter, of the consumer `mail`; a consumer `late` has none of them.
 * `statistics` are those of the planner afterwards: `fresh`, `absent`, or `stale`, as of the time when nothing was pending.
 * @param {string} url
 * @param {number} rows
 * @param {'fresh' | 'absent' | 'stale'} statistics
 */
export async function seedPast(url, rows, statistics) {
  const onMaria = url.startsWith('mysql:');
  const dataSource = await new DataSource({ type: onMaria ? 'mariadb' : 'postgres', url }).initialize();
  const runner = dataSource.createQueryRunner();
  const dialect = onMaria ? MARIADB : POSTGRES;
  const { table, then, id, text, key, numbered, before, after, flush, frozen, numbers } = dialect;
  const all = numbers(1, rows);
  const bills = rows / 10;
  const bill = id(1, `n % ${bills}`);
  try {
    for (const statement of before) await runner.query(statement);
    for (const statement of frozen(statistics === 'absent')) await runner.query(statement);
    for (const statement of [
      `INSERT INTO ${table('consumer')} (name, event_name, last_seen_at)
       VALUES ${['mail', 'late'].map((name) => `('${name}', 'payment.succeeded', ${then})`).join(', ')}`,
      `INSERT INTO ${table('shop_order')} (shop, order_id) SELECT 'main', ${text('o')} FROM ${numbers(0, bills - 1)}`,
      `INSERT INTO ${table('bill')} (intent_id, shop, shop_id, order_id, attempt, state, amount, currency, payer_pays_commission, type, custom, custom_given,
         bill_id, created_at, ended_at, check_after)
       SELECT ${id(1)}, 'main', 'main', ${text('o')}, 1, 'PAID', 10, 'RUB', false, 'normal', 'c', false, ${text('b')}, ${then}, ${then}, ${then} FROM ${numbers(0, bills - 1)}`,
      `INSERT INTO ${table('event')} (id, seq, ${key}, name, shop, intent_id, payload, occurred_at) ${numbered}
       SELECT ${id(2)}, n, ${text('k')}, 'payment.succeeded', 'main', ${bill}, '{}', ${then} FROM ${all}`,
      `INSERT INTO ${table('delivery')} (event_id, event_name, seq, intent_id, consumer, state, attempts, due_at, ended_at)
       SELECT ${id(2)}, 'payment.succeeded', n, ${bill}, 'mail', 'DONE', 1, ${then}, ${then} FROM ${all}`,
    ])
      await runner.query(statement);
    for (const statement of dialect.numberedTo(rows)) await runner.query(statement);
    if (statistics === 'stale') for (const statement of after) await runner.query(statement);
    await runner.query(
      `UPDATE ${table('delivery')} SET state = 'DEAD', last_error_code = 'Error' WHERE consumer = 'mail'`,
    );
    if (statistics === 'fresh') for (const statement of after) await runner.query(statement);
    for (const statement of flush) await runner.query(statement);
  } finally {
    await runner.release();
    await dataSource.destroy();
  }
}

/** @param {Dialect} dialect */
const consumers = ({ table, then }) =>
  `INSERT INTO ${table('consumer')} (name, event_name, last_seen_at)
   VALUES ${['gone', 'mail', 'orders'].map((name) => `('${name}', 'payment.succeeded', ${then})`).join(', ')}`;

/**
 * @param {Dialect} dialect
 * @param {string} from
 */
const statements = ({ table, text, id, key, then, numbered }, from) => [
  `INSERT INTO ${table('shop_order')} (shop, order_id) SELECT 'main', ${text('o')} FROM ${from}`,
  `INSERT INTO ${table('bill')} (intent_id, shop, shop_id, order_id, attempt, state, amount, currency, payer_pays_commission, type, custom, custom_given,
     bill_id, created_at, next_check_at, check_after, failed_checks)
   SELECT ${id(1)}, 'main', 'main', ${text('o')}, 1, CASE n % 2 WHEN 0 THEN 'UNKNOWN' ELSE 'OPEN' END, 10, 'RUB', false, 'normal', 'c', false,
     ${text('b')}, ${then}, CASE n % 2 WHEN 1 THEN ${then} END, ${then}, 6 FROM ${from}`,
  `INSERT INTO ${table('event')} (id, seq, ${key}, name, shop, intent_id, payload, occurred_at) ${numbered}
   SELECT ${id(2)}, n, ${text('k')}, 'payment.succeeded', 'main', ${id(1)}, '{}', ${then} FROM ${from}`,
  `INSERT INTO ${table('delivery')} (event_id, event_name, seq, intent_id, consumer, state, attempts, due_at, last_error_code, ended_at)
   SELECT ${id(2)}, 'payment.succeeded', n, ${id(1)}, CASE n % 4 WHEN 0 THEN 'gone' WHEN 2 THEN 'mail' ELSE 'orders' END,
     CASE n % 4 WHEN 3 THEN 'DEAD' ELSE 'PENDING' END, 1, ${then},
     CASE n % 4 WHEN 1 THEN 'order-not-found' WHEN 2 THEN 'Error' WHEN 3 THEN 'Error' END, CASE n % 4 WHEN 3 THEN ${then} END FROM ${from}`,
  `INSERT INTO ${table('review')} (id, ${key}, shop, order_id, intent_id, reason, detail, state, opened_at)
   SELECT ${id(3)}, ${text('r')}, 'main', ${text('o')}, ${id(1)}, 'underpaid', '{}', 'OPEN', ${then} FROM ${from}`,
  `INSERT INTO ${table('callback')} (id, kind, shop, bill_id, order_id, status, digest, corroboration, fields, received_at, pending, due_at)
   SELECT ${id(4)}, 'postback', 'main', ${text('u')}, ${text('o')}, 'SUCCESS', 'match', '{}', '{}', ${then}, true, ${then} FROM ${from}`,
  `INSERT INTO ${table('lost_bill')} (id, shop, bill_id, state, asks, asked_at, found_at)
   SELECT ${id(5)}, 'main', ${text('l')}, 'LOST', 1, ${then}, ${then} FROM ${from}`,
];
