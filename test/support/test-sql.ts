/** A statement for MariaDB. */
export interface Spelled {
  readonly text: string;
  /** For each `?`, the index of its parameter. */
  readonly order: readonly number[];
  /** Columns with counts, because large integers may be returned as text. */
  readonly counts: ReadonlySet<string>;
}

const COLUMN = String.raw`[a-z_]\w*(?:\.\w+)?`;
const EPOCH = `TIMESTAMP'1970-01-01 00:00:00'`;
const MS = (sign: string, ms: string): string => `${sign} INTERVAL 1000 * ${ms} MICROSECOND`;

/** Applied in this order: a later rule may match the result of an earlier one. */
const RULES = (<readonly (readonly [RegExp, string])[]>[
  [/payment_acceptance\.`?(\w+)`?/g, 'payment_acceptance_$1'],
  // Timestamps are DATETIME(6) in UTC, read and written as text or with UTC_TIMESTAMP, so the session's zone does not matter.
  [/floor\(extract\(epoch from ([\w.:]+)\) \* 1000\)::bigint::text/gi, msBetween(EPOCH, '$1')],
  [/to_timestamp\(([$\w.]+)(?:::double precision)? \/ 1000\)/g, `TIMESTAMPADD(MICROSECOND, 1000 * $1, ${EPOCH})`],
  [/([+-]) (\$\d+|\([^()]*\))::double precision \* interval '1 millisecond'/g, MS('$1', '$2')],
  [/\binterval '(\d+) (second|minute|hour|day)s?'/g, 'INTERVAL $1 $2'],
  [/\bnow\(\)/g, 'UTC_TIMESTAMP(6)'],
  [/(COLUMN)\s*->>\s*'(\w+)'/g, `JSON_VALUE($1, '$.$2') COLLATE utf8mb4_nopad_bin`],
  [/= ANY\((\$\d+)(?:::\w+\[\])?\)/g, 'IN ($1)'],
  [/<> ALL\((\$\d+)(?:::\w+\[\])?\)/g, 'NOT IN ($1)'],
  [/(INSERT INTO \w+ \((\S+?),[^]*?)ON CONFLICT(?: \([^)]*\))? DO NOTHING/g, '$1ON DUPLICATE KEY UPDATE $2 = $2'],
  [/\s+RETURNING \w+\s*$/, ''],
  [/(?<![$\w.])(COLUMN)::text/g, 'CAST($1 AS CHAR)'],
  [/::(?:double precision|[a-z]+)/g, ''],
]).map(([{ source, flags }, spelling]) => [new RegExp(source.replace('COLUMN', COLUMN), flags), spelling] as const);

function msBetween(from: string, to: string): string {
  return `CAST(TIMESTAMPDIFF(MICROSECOND, ${from}, ${to}) DIV 1000 AS CHAR)`;
}

/**
 * Translates a test's PostgreSQL statement to MariaDB: table names, parameters, casts, timestamps. The meaning stays the same.
 * The module's own statements are never translated.
 */
export function spell(statement: string): Spelled {
  const counts = new Set(Array.from(statement.matchAll(/::int\)?\s+AS\s+"?(\w+)"?/g), ([, name = '']) => name));
  let text = statement.replace(/'(?:[^']|'')*'|"(\w+)"/g, (found, name?: string) =>
    name === undefined ? found : `\`${name}\``,
  );
  for (const [rule, spelling] of RULES) text = text.replace(rule, spelling);
  const order: number[] = [];
  text = text.replace(/\$(\d+)/g, (_, place) => {
    order.push(Number(place) - 1);
    return '?';
  });
  return { text, order, counts };
}
