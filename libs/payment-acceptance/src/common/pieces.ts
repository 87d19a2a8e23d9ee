/** Small enough that a statement of this many rows takes little time to write and to execute. */
const ROWS_OF_STATEMENT = 200;

/** Few enough that whatever runs beside an operator's action waits at most a few milliseconds. */
const ROWS_OF_ACTION = 20;

/** Few enough that reading them keeps neither the event loop nor the database busy for long. */
export const READ_AT_ONCE = 4 * ROWS_OF_ACTION;

export function inPieces<T>(rows: readonly T[], size = ROWS_OF_STATEMENT): T[][] {
  const count = Math.ceil(rows.length / size);
  return Array.from({ length: count }, (_, piece) => rows.slice(piece * size, (piece + 1) * size));
}

/**
 * Reads the rows of an operator's action in pieces.
 * @param reads run one after the other; each returns the next {@link READ_AT_ONCE} rows after a given row
 */
export async function* readPieces<T>(
  ...reads: ((after: T | undefined) => Promise<readonly T[]>)[]
): AsyncGenerator<T[]> {
  for (const read of reads) {
    let rows: readonly T[] = [];
    do {
      rows = await read(rows.at(-1));
      yield* inPieces(rows, ROWS_OF_ACTION);
    } while (rows.length >= READ_AT_ONCE);
  }
}
