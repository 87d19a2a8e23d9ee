/** Small enough that neither a statement of so many rows nor writing its text takes long. */
const ROWS_OF_STATEMENT = 200;

/** So few rows that reading them keeps neither the event loop nor the database busy for long. */
export const READ_AT_ONCE = 20 * ROWS_OF_STATEMENT;

/** The rows in pieces, each for a statement. */
export function inPieces<T>(rows: readonly T[]): T[][] {
  const count = Math.ceil(rows.length / ROWS_OF_STATEMENT);
  return Array.from({ length: count }, (_, piece) =>
    rows.slice(piece * ROWS_OF_STATEMENT, (piece + 1) * ROWS_OF_STATEMENT),
  );
}

/** The same for more rows than are read at once. @param read gives the next {@link READ_AT_ONCE} after a row */
export async function* readPieces<T>(read: (after: T | undefined) => Promise<readonly T[]>): AsyncGenerator<T[]> {
  for (let last: T | undefined; ;) {
    const rows = await read(last);
    yield* inPieces(rows);
    if (rows.length < READ_AT_ONCE) return;
    last = rows.at(-1);
  }
}
