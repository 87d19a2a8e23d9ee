import { QueryFailedError } from '../query-failed.error.js';

/** Rows of a SELECT, or of INSERT … RETURNING; otherwise the header of an answer. */
export type MysqlResult = Record<string, unknown>[] | { readonly affectedRows?: number };

interface QueryingConnection {
  query(text: string, values: unknown[], done: (error: Error | null, result: MysqlResult) => void): unknown;
}

/** @throws QueryFailedError as TypeORM does */
export async function runOnConnection(
  connection: unknown,
  text: string,
  values: readonly unknown[],
): Promise<MysqlResult> {
  try {
    return await new Promise((resolve, reject) => {
      (connection as QueryingConnection).query(text, [...values], (error, result) =>
        error ? reject(error) : resolve(result),
      );
    });
  } catch (error) {
    throw new QueryFailedError(text, error as Error);
  }
}
