/*
 * Words that our statements are made of. Every value that matters is selected as text, so that type parsers of the host
 * (numeric as a float, say) never touch it.
 */

/** SQL for the present moment on the database's clock; `$1` of the statement is `Database.offsetMs`. */
export const NOW = `(now() + $1::double precision * interval '1 millisecond')`;

/**
 * SQL at the end of a subquery that is to be looked up for each row that needs it. PostgreSQL joins whole tables instead
 * where it believes them small, as it does of tables that have grown since it last looked.
 */
export const ROW_BY_ROW = 'OFFSET 0';

/**
 * SQL at the end of a subquery whose rows are to be read in the order of an index, as many as are taken: no limit. PostgreSQL
 * sees that there is one, and not which, so it does not read all to sort them, however few it believes there are.
 */
export const IN_ORDER = 'LIMIT (SELECT NULL::bigint)';

/**
 * SQL for a parameter whose value the planner does not see: what it expects of one value and of any are then the same, so
 * that it keeps one plan for all of them. For lists, limits and bounds of statements that are sent by `Database.prepared`.
 */
export function opaque(parameter: string, type: string): string {
  return `(SELECT ${parameter}::${type})::${type}`;
}

/** {@link NOW}, unseen. */
export const OPAQUE_NOW = `(SELECT ${NOW})`;

/** SQL for rows whose columns come as lists, given as parameters from `first` on; unseen, too. */
export function columns(first: number, ...types: readonly string[]): string {
  return `unnest(${types.map((type, index) => opaque(`$${first + index}`, `${type}[]`)).join(', ')})`;
}

/** The same for rows that others are looked up for: PostgreSQL expects few, and so looks those up by their keys. */
export function rowsOf(first: number, ...types: readonly string[]): string {
  return `(SELECT * FROM ${columns(first, ...types)} ${IN_ORDER})`;
}

/** SQL that adds whole milliseconds, given as an expression, to the present moment. */
export function inMs(expression: string): string {
  return `(${NOW} + (${expression})::double precision * interval '1 millisecond')`;
}

/** SQL that reads an instant as epoch milliseconds in text: independent of the host's type parsers. */
export function epochMs(column: string): string {
  return `floor(extract(epoch from ${column}) * 1000)::bigint::text`;
}

/** A row whose instants are still text, as `epochMs` selects them. */
export type Texts<T, K extends keyof T> = Omit<T, K> & { readonly [P in K]: string | Extract<T[P], null> };

/** An instant as `epochMs` reads it. */
export function instant(text: string): Date;
export function instant(text: string | null): Date | null;
export function instant(text: string | null): Date | null {
  return text === null ? null : new Date(Number(text));
}
