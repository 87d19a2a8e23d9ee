/** Small enough that neither a statement of so many rows nor writing its text takes long. */
export const ROWS_OF_STATEMENT = 500;

/** The rows in pieces, each for a statement. */
export function inPieces<T>(rows: readonly T[]): T[][] {
  const count = Math.ceil(rows.length / ROWS_OF_STATEMENT);
  return Array.from({ length: count }, (_, piece) =>
    rows.slice(piece * ROWS_OF_STATEMENT, (piece + 1) * ROWS_OF_STATEMENT),
  );
}
