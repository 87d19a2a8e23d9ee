import type { Dialect } from '../dialect.js';
import { IN_ORDER, ROW_BY_ROW } from './planner.js';
import { rawSql, join, toSql, sql } from '../statement.js';

export const postgres: Dialect = {
  parameter: (place) => `$${place}`,
  now: (offsetMs) => sql`(now() + ${offsetMs}::double precision * interval '1 millisecond')`,
  instant: (epochMs) => sql`to_timestamp(${epochMs}::double precision / 1000)`,
  msBetween: (from, to) => sql`floor(extract(epoch FROM ${toSql(to)} - ${toSql(from)}) * 1000)::bigint`,
  epochMs: (instant) => sql`floor(extract(epoch FROM ${toSql(instant)}) * 1000)::bigint`,
  iso: (instant) => sql`to_char(${toSql(instant)} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  text: (value) => sql`(${toSql(value)})::text`,
  jsonText: (object, property) => sql`(${toSql(object)} ->> ${property}::text)`,
  jsonWith: (object, properties) => sql`(${toSql(object)} || ${JSON.stringify(properties)}::jsonb)`,
  concat: (texts) =>
    sql`concat(${join(
      texts.map((text) => sql`${text}::text`),
      ', ',
    )})`,
  sha256: (text) => sql`encode(sha256(convert_to(${text}, 'UTF8')), 'hex')`,
  oneOf: (values, type) => sql`= ANY(${values}::${rawSql(type)}[])`,
  noneOf: (values, type) => sql`<> ALL(${values}::${rawSql(type)}[])`,
  listHas: (list, value) => sql`${toSql(value)} = ANY(${toSql(list)})`,
  readOnly: rawSql(`CASE current_setting('transaction_read_only') WHEN 'on' THEN 1 ELSE 0 END`),
  rowByRow: ROW_BY_ROW,
  inOrder: IN_ORDER,
  bySeq: rawSql(''),
  byPrimaryKey: rawSql(''),
  inKeyOrder: () => rawSql(''),
  rowLockClause: rawSql('FOR NO KEY UPDATE'),
  retentionLock: { take: rawSql('pg_try_advisory_xact_lock(7320114906)') },
  shareLockClause: rawSql('FOR SHARE'),
  ignoreExisting: (...key) => rawSql(`ON CONFLICT (${key.join(', ')}) DO NOTHING`),
};
