import type { Expression, Statement } from './statement.js';

export type ListType = 'text' | 'uuid' | 'bigint';

/** SQL that differs between PostgreSQL and MariaDB in otherwise equal statements. */
export interface Dialect {
  /** The parameter at a position, from 1 on. */
  readonly parameter: (place: number) => string;
  /** The current time on the database's clock, plus an offset in milliseconds. */
  readonly now: (offsetMs: number | Statement) => Statement;
  readonly instant: (epochMs: number) => Statement;
  /** Whole milliseconds from one instant to another. */
  readonly msBetween: (from: Expression, to: Expression) => Statement;
  /** An instant as whole epoch milliseconds, independent of the host's type parsers and the session's time zone. */
  readonly epochMs: (instant: Expression) => Statement;
  /** An instant as ISO 8601 in UTC. */
  readonly iso: (instant: Expression) => Statement;
  /** A number, an id or JSON as text, so that no type parser of the host changes it. */
  readonly text: (value: Expression) => Statement;
  /** A property of a JSON object as text; NULL if there is none. */
  readonly jsonText: (object: Expression, property: string) => Statement;
  /** A JSON object with these properties set. @param properties their names and values must not come from outside */
  readonly jsonWith: (
    object: Expression,
    properties: Readonly<Record<string, string | number | boolean | null>>,
  ) => Statement;
  readonly concat: (texts: readonly Statement[]) => Statement;
  /** The SHA-256 digest of a text in UTF-8, as hexadecimal text in lower case. */
  readonly sha256: (text: Statement) => Statement;
  /**
   * Follows a column: whether its value is in the list. An empty list matches nothing. To negate, use {@link noneOf}.
   */
  readonly oneOf: (values: readonly string[], type: ListType) => Statement;
  /** Follows a column that is never NULL: whether its value is not in the list. An empty list excludes nothing. */
  readonly noneOf: (values: readonly string[], type: ListType) => Statement;
  readonly listHas: (list: Expression, value: Expression) => Statement;
  /** End of a subquery that must be evaluated per row: otherwise the planner might join whole tables. */
  readonly rowByRow: Statement;
  /** End of a subquery whose rows must be read in the order of an index, only as many as are needed. */
  readonly inOrder: Statement;
  /** After a table that is read in pages ordered by `seq`: otherwise each page might sort all that remains. */
  readonly bySeq: Statement;
  /** After a table whose rows are locked by their ids: another access path might lock other rows, too. */
  readonly byPrimaryKey: Statement;
  /** End of a DELETE by ids, so that it locks no other rows. @param count how many ids */
  readonly inKeyOrder: (count: number) => Statement;
  /** End of a SELECT that locks rows for a change that leaves their keys as they are. */
  readonly rowLockClause: Statement;
  /**
   * `take` tells whether this session gets the lock, which only one has at a time. Without `end`, COMMIT releases it.
   */
  readonly retentionLock: { readonly take: Statement; readonly end?: Statement };
  /** Whether the server is read-only: 1 or 0. */
  readonly readOnly: Statement;
  /** End of a SELECT whose rows nobody may write until the transaction ends. */
  readonly shareLockClause: Statement;
  /** End of an INSERT that leaves a row with this key unchanged. Any other conflict is an error on PostgreSQL. */
  readonly ignoreExisting: (...key: Lowercase<string>[]) => Statement;
}
