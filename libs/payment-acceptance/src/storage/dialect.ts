import type { Expression, Statement } from './statement.js';

/** Types of the values in a list. */
export type ListType = 'text' | 'uuid' | 'bigint';

/** What PostgreSQL and MariaDB write differently in statements that are otherwise the same. */
export interface Dialect {
  /** The parameter at a place, from 1 on. */
  readonly parameter: (place: number) => string;
  /** The present moment on the database's clock, so many milliseconds later. */
  readonly now: (offsetMs: number | Statement) => Statement;
  /** An instant that is given as epoch milliseconds. */
  readonly instant: (epochMs: number) => Statement;
  /** Whole milliseconds from one instant to another. */
  readonly msBetween: (from: Expression, to: Expression) => Statement;
  /** An instant as whole epoch milliseconds: independent of the host's type parsers and of the session's time zone. */
  readonly epochMs: (instant: Expression) => Statement;
  /** An instant as ISO 8601 in UTC. */
  readonly iso: (instant: Expression) => Statement;
  /** A number, an id or JSON as text, which no type parser of the host touches. */
  readonly text: (value: Expression) => Statement;
  /** Text in a property of a JSON object; NULL where there is none. */
  readonly jsonText: (object: Expression, property: string) => Statement;
  /** Whether a text has a match of a regular expression, anywhere. @param pattern means the same to both databases */
  readonly hasMatch: (text: Expression, pattern: string) => Statement;
  /** JSON text of an array with an object for each row of a group, in an order; `[]` where there is no row. */
  readonly jsonArray: (properties: Readonly<Record<string, Expression>>, order: Expression) => Statement;
  /** Follows a column: whether its value is in the list; of an empty list none is. */
  readonly oneOf: (values: readonly string[], type: ListType) => Statement;
  /** Whether a stored list of texts has a value. */
  readonly listHas: (list: Expression, value: Expression) => Statement;
  /** Whether the server takes no writes: 1 or 0. */
  readonly readOnly: Statement;
  /** The end of an INSERT that leaves a row as it is which is there already. @param column any of the table */
  readonly unlessThere: (column: Lowercase<string>) => Statement;
}
