/**
 * @template Row, Key
 * @param {Iterable<Row>} rows
 * @param {(row: Row) => Key} key
 */
export function groupBy(rows, key) {
  /** @type {Map<Key, Row[]>} */
  const groups = new Map();
  for (const row of rows) {
    const name = key(row);
    const group = groups.get(name);
    if (group) group.push(row);
    else groups.set(name, [row]);
  }
  return groups;
}

/**
 * @template Row, Key
 * @param {Iterable<Row>} rows
 * @param {(row: Row) => Key} key
 */
export function countBy(rows, key) {
  return new Map([...groupBy(rows, key)].map(([name, group]) => [name, group.length]));
}

/**
 * @template Row, Key
 * @param {readonly Row[]} rows
 * @param {(row: Row) => Key} key
 * @returns {Map<Key, Row>}
 */
export function indexBy(rows, key) {
  return new Map(rows.map((row) => [key(row), row]));
}

/**
 * An exact amount such as "100.05" in hundredths.
 * @param {string} amount
 */
export function minor(amount) {
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d{1,2}))?$/.exec(amount) ?? [];
  if (whole === undefined) throw new Error(`Not an amount: ${amount}`);
  return BigInt(whole + fraction.padEnd(2, '0'));
}

/**
 * Rows of as many columns, such as a label and a value.
 * @param {(string | number)[][]} rows
 */
export function table(rows) {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)));
  /** @param {(string | number)[]} row */
  const line = (row) => row.map((value, column) => String(value).padEnd(widths[column] ?? 0)).join('  ');
  return rows.map((row) => line(row).trimEnd()).join('\n');
}
