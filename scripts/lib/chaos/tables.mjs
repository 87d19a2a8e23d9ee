export function groupBy(rows, key) {
  const groups = new Map();
  for (const row of rows) {
    const name = key(row);
    const group = groups.get(name);
    if (group) group.push(row);
    else groups.set(name, [row]);
  }
  return groups;
}

export function countBy(rows, key) {
  return new Map([...groupBy(rows, key)].map(([name, group]) => [name, group.length]));
}

export function indexBy(rows, key) {
  return new Map(rows.map((row) => [key(row), row]));
}

/** An exact amount such as "100.05" in hundredths. */
export function minor(amount) {
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d{1,2}))?$/.exec(amount) ?? [];
  if (whole === undefined) throw new Error(`Not an amount: ${amount}`);
  return BigInt(whole + fraction.padEnd(2, '0'));
}

/** Rows of as many columns, such as a label and a value. */
export function table(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)));
  const line = (row) => row.map((value, column) => String(value).padEnd(widths[column])).join('  ');
  return rows.map((row) => line(row).trimEnd()).join('\n');
}
