import type { Dialect } from '../dialect.js';
import { rawSql, join, toSql, sql } from '../statement.js';

/** Instants are DATETIME(6) in UTC, so that the session's time zone does not matter. */
const EPOCH = rawSql(`TIMESTAMP'1970-01-01 00:00:00'`);

const RETENTION_LOCK = rawSql(`CONCAT('payment_acceptance:retention:', MD5(DATABASE()))`);

export const mariadb: Dialect = {
  parameter: () => '?',
  now: (offsetMs) => sql`(UTC_TIMESTAMP(6) + INTERVAL 1000 * ${offsetMs} MICROSECOND)`,
  instant: (epochMs) => sql`TIMESTAMPADD(MICROSECOND, 1000 * ${epochMs}, ${EPOCH})`,
  msBetween: (from, to) => sql`(TIMESTAMPDIFF(MICROSECOND, ${toSql(from)}, ${toSql(to)}) DIV 1000)`,
  epochMs: (instant) => mariadb.msBetween(EPOCH, instant),
  iso: (instant) => sql`CONCAT(LEFT(DATE_FORMAT(${toSql(instant)}, '%Y-%m-%dT%H:%i:%s.%f'), 23), 'Z')`,
  text: (value) => sql`CAST(${toSql(value)} AS CHAR)`,
  jsonText: (object, property) =>
    sql`JSON_VALUE(${toSql(object)}, CONCAT('$.', ${property})) COLLATE utf8mb4_nopad_bin`,
  jsonWith(object, properties) {
    const set = Object.entries(properties).map(
      ([name, value]) => sql`${rawSql(`'$.${name}'`)}, JSON_EXTRACT(${JSON.stringify(value)}, '$')`,
    );
    return sql`JSON_SET(${toSql(object)}, ${join(set, ', ')})`;
  },
  concat: (texts) => sql`CONCAT(${join(texts, ', ')})`,
  sha256: (text) => sql`SHA2(${text}, 256)`,
  oneOf: (values) => sql`IN (${values})`,
  noneOf: (values) => (values.length === 0 ? sql`IS NOT NULL` : sql`NOT IN (${values})`),
  listHas: (list, value) => sql`JSON_CONTAINS(${toSql(list)}, JSON_QUOTE(${toSql(value)}))`,
  // `read_only` is a number, or since MariaDB 12 a word.
  readOnly: rawSql(`CASE WHEN @@GLOBAL.read_only IN ('0', 'OFF') AND NOT @@GLOBAL.innodb_read_only THEN 0 ELSE 1 END`),
  rowByRow: rawSql(''),
  inOrder: rawSql(''),
  bySeq: rawSql('FORCE INDEX (seq)'),
  byPrimaryKey: rawSql('FORCE INDEX (PRIMARY)'),
  // With another access path, DELETE, unlike UPDATE, would wait for every locked row that it passes.
  inKeyOrder: (count) => sql`ORDER BY id LIMIT ${count}`,
  rowLockClause: rawSql('FOR UPDATE'),
  retentionLock: { take: sql`GET_LOCK(${RETENTION_LOCK}, 0)`, end: sql`DO RELEASE_LOCK(${RETENTION_LOCK})` },
  shareLockClause: rawSql('LOCK IN SHARE MODE'),
  ignoreExisting: (column) => rawSql(`ON DUPLICATE KEY UPDATE ${column} = ${column}`),
};
