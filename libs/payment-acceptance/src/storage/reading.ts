/**
 * How the columns of a row are read that are not text: drivers, and type parsers of the host, give them in different forms.
 * Text comes as it is, and so does NULL.
 */
export type Reading<Row> = {
  readonly [Column in keyof Row as NonNullable<Row[Column]> extends string ? never : Column]-?: (
    value: unknown,
  ) => NonNullable<Row[Column]>;
};

/** A truth value; MariaDB gives 1 and 0. */
export const flag = (value: unknown): boolean => Number(value) === 1;

/** A whole number; large ones may come as text. */
export const integer = (value: unknown): number => Number(value);

/** An instant that was selected by `Dialect.epochMs`. */
export const instant = (value: unknown): Date => new Date(Number(value));

/** JSON that was selected as text: whatever the column is said to hold. */
export const json = (value: unknown): never => JSON.parse(String(value)) as never;

/** The rows of a driver, as their reading says. */
export function readRows<Row>(rows: readonly Record<string, unknown>[], reading: Reading<Row>): Row[] {
  const readers = Object.entries<(value: unknown) => unknown>(reading);
  return rows.map((row) => {
    const read = { ...row };
    for (const [column, reader] of readers) read[column] = read[column] === null ? null : reader(read[column]);
    return read as Row;
  });
}
