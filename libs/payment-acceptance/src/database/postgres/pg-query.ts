import { QueryFailedError } from '../query-failed.error.js';

/** A statement as `pg` takes it; one with a name is planned once per connection. */
export interface PgQuery {
  readonly name?: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

export interface PgResult {
  readonly rows: readonly Record<string, unknown>[];
  readonly rowCount: number | null;
}

/** Leaves values as the text that the server sent, whatever type parsers the host has set; `ColumnReaders` read them. */
const AS_TEXT = { getTypeParser: () => (value: unknown) => value };

interface QueryingClient {
  query(
    query: PgQuery & { readonly types: typeof AS_TEXT },
    done: (error: Error | null, result: PgResult) => void,
  ): unknown;
}

/**
 * Uses the callback, not the promise of `pg`: promises chain each statement to the next, which keeps its parameters and
 * callers in memory until a full garbage collection.
 * @throws QueryFailedError as TypeORM does
 */
export async function runOnClient(client: unknown, query: PgQuery): Promise<PgResult> {
  try {
    return await new Promise((resolve, reject) => {
      const sent = (client as QueryingClient).query({ ...query, types: AS_TEXT }, (error, result) =>
        error ? reject(error) : resolve(result),
      );
      // A client wrapped by the host may return a promise anyway, and fail before the statement is sent.
      if (sent instanceof Promise) sent.then((result?: PgResult) => result && resolve(result), reject);
    });
  } catch (error) {
    throw new QueryFailedError(query.text, error as Error);
  }
}
