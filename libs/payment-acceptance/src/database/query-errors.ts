import { PaymentReadOnlyDatabaseError } from './database.errors.js';
import { isQueryFailure, type DriverCodes } from './query-failed.error.js';

function driverCodes(error: unknown): DriverCodes {
  return isQueryFailure(error) ? error.driverError : {};
}

/** The database's own error code of a failed statement; on MariaDB a number. */
export function errorCode(error: unknown): unknown {
  const { code, errno } = driverCodes(error);
  return errno ?? code;
}

/** Deadlock and serialization failure; on MariaDB also lock wait timeout and "record has changed". */
const CONFLICT_CODES = new Set<unknown>(['40001', '40P01', 1213, 1205, 1020]);

/** Another transaction has just written data on which this one's decision depends: roll this one back and repeat it. */
export class ConcurrentChangeError extends Error {
  override readonly name = 'ConcurrentChangeError';
}

export function isConflict(error: unknown): boolean {
  if (error instanceof ConcurrentChangeError) return true;
  return CONFLICT_CODES.has(errorCode(error));
}

/** SQLSTATE classes of errors of the database or the connection, rather than of the data. */
const GLOBAL_ERROR_CLASSES = new Set(['08', '25', '40', '53', '57', '58', '70', 'HY']);

/** A statement of MariaDB's that exceeds `max_allowed_packet`; one with a part of its rows need not. */
const PACKET_TOO_LARGE = 1153;

/** Whether a single row of the statement may have caused the error, so that the others would succeed without it. */
export function mayConcernOneRow(error: unknown): boolean {
  // Repeating the work did not help, so the cause is not another transaction.
  if (error instanceof ConcurrentChangeError) return true;
  const { code, errno, sqlState = errno === undefined ? code : undefined } = driverCodes(error);
  if (errno === PACKET_TOO_LARGE) return true;
  // Drivers have codes of their own, such as PROTOCOL_CONNECTION_LOST.
  const [, sqlClass] = /^([0-9A-Z]{2})[0-9A-Z]{3}$/.exec(String(sqlState)) ?? [];
  return sqlClass !== undefined && !GLOBAL_ERROR_CLASSES.has(sqlClass);
}

/** Errors of a standby, of a server with `read_only` or `innodb_read_only`, or of a read-only session. */
const READ_ONLY_CODES = new Set<unknown>(['25006', 1290, 1836, 1792]);

/** Whether the connection leads to a read-only server, such as a former primary after a switchover. */
export function isReadOnly(error: unknown): boolean {
  if (error instanceof PaymentReadOnlyDatabaseError) return true;
  return READ_ONLY_CODES.has(errorCode(error));
}

/** Whether PostgreSQL refuses a statement because an earlier one of its transaction has failed. */
export function isInFailedTransaction(error: unknown): boolean {
  return errorCode(error) === '25P02';
}

export function isMissingSavepoint(error: unknown): boolean {
  return errorCode(error) === 1305;
}

export function isUniqueViolation(error: unknown): boolean {
  const { code, errno } = driverCodes(error);
  return code === '23505' || errno === 1062;
}

/** The server, the database or its user has as many connections as it may have. */
const NO_CONNECTION_CODES = new Set<unknown>(['53300', 1040, 1203, 1226]);

/** Whether the server refuses to open another connection; the error is the driver's. */
export function hasNoConnectionLeft(error: unknown): boolean {
  const { code, errno } = error as DriverCodes;
  return NO_CONNECTION_CODES.has(errno ?? code);
}
