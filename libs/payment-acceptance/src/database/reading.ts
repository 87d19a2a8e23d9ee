/** How to read the columns that are not text: drivers return them in different forms. */
export type ColumnReaders<Row> = {
  readonly [Column in keyof Row as NonNullable<Row[Column]> extends string ? never : Column]-?: (
    value: unknown,
  ) => NonNullable<Row[Column]>;
};

/** PostgreSQL sends booleans as `t` and `f`, which a layer of the host's turns into true and false; MariaDB as 1 and 0. */
export const flag = (value: unknown): boolean => value === 't' || Number(value) === 1;

/** Drivers return large numbers as text. */
export const integer = (value: unknown): number => Number(value);

/** An instant selected with `Dialect.epochMs`. */
export const instant = (value: unknown): Date => new Date(Number(value));

/** JSON selected as text; has whatever type the column declares. */
export const json = (value: unknown): never => JSON.parse(String(value)) as never;

export function readRows<Row>(rows: readonly Record<string, unknown>[], reading: ColumnReaders<Row>): Row[] {
  const readers = Object.entries<(value: unknown) => unknown>(reading);
  return rows.map((row) => {
    const read = { ...row };
    for (const [column, reader] of readers) read[column] = read[column] === null ? null : reader(read[column]);
    return read as Row;
  });
}
