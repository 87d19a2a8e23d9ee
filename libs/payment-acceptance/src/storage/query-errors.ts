import { QueryFailedError } from 'typeorm';
import { ReadOnlyDatabaseError } from './storage.errors.js';

/** What PostgreSQL and MariaDB say of a statement that fails; MariaDB has numbers beside. */
function trouble(error: unknown): { code?: unknown; errno?: unknown; sqlState?: unknown } {
  return error instanceof QueryFailedError ? (error.driverError as object) : {};
}

/** Deadlock, serialization failure; on MariaDB also a lock that did not come and a row that changed meanwhile. */
const CONFLICTS = new Set<unknown>(['40001', '40P01', 1213, 1205, 1020]);

/** Another transaction has just written what this one has decided without: it is to be undone, and done again. */
export class ConcurrentChangeError extends Error {
  override readonly name = 'ConcurrentChangeError';
}

/** Whether the work was given up for another's sake. */
export function isConflict(error: unknown): boolean {
  if (error instanceof ConcurrentChangeError) return true;
  const { code, errno } = trouble(error);
  return CONFLICTS.has(errno ?? code);
}

/** SQLSTATE classes of what is wrong with the database or the connection, not with what was written. */
const TROUBLE_OF_ALL = new Set(['08', '25', '40', '53', '57', '58', '70', 'HY']);

/** Whether one of the rows that a statement wrote may be to blame, so that the others would pass without it. */
export function mayConcernOneRow(error: unknown): boolean {
  const { code, errno, sqlState = errno === undefined ? code : undefined } = trouble(error);
  return typeof sqlState === 'string' && !TROUBLE_OF_ALL.has(sqlState.slice(0, 2));
}

/**
 * What a server answers that takes no writes: on PostgreSQL a standby, or a session that is read-only; on MariaDB a server with
 * `read_only` or `innodb_read_only`, and such a session.
 */
const READ_ONLY = new Set<unknown>(['25006', 1290, 1836, 1792]);

/** Whether the connection leads to a server that takes no writes, as one that has been a primary until a switchover. */
export function isReadOnly(error: unknown): boolean {
  if (error instanceof ReadOnlyDatabaseError) return true;
  const { code, errno } = trouble(error);
  return READ_ONLY.has(errno ?? code);
}

/** Whether the error says that a row with the same unique key exists already. */
export function isUniqueViolation(error: unknown): boolean {
  const { code, errno } = trouble(error);
  return code === '23505' || errno === 1062;
}
