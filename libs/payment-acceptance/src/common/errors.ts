import { isObject } from './objects.js';
import { maskedLine } from './redact.js';
import { cleanLine } from './text.js';

/**
 * Base class of the errors that this module throws on purpose, except those of handlers and receivers
 * (`PaymentOrderNotFoundError`, `PaymentNonRetryableError`, `UnreadablePaymentEventError`). Messages say what happened
 * and what to do next. No error contains a token, a digest or a full card number, and none has a foreign error as its
 * `cause`.
 */
export abstract class PaymentAcceptanceError extends Error {
  /** Stable, machine-readable name of the error, for example `bill-mismatch`. */
  abstract readonly code: string;

  constructor(message: string, options?: { cause?: PaymentAcceptanceError }) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Anything can be thrown: an object without a prototype, a revoked proxy, an error whose getters throw. */
export function readable<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

/** Whether an error has this mark, which all loaded copies of this package share. */
export function isMarked(error: unknown, mark: symbol): boolean {
  return readable(() => typeof error === 'object' && error !== null && mark in error, false);
}

const TYPE_PATTERN = /^[\w.:-]{1,64}$/;

/**
 * The kind of an error, of low cardinality: its code, or else its name. It is stored and counted, so whatever else the
 * host has put there is not taken for one.
 */
export function errorType(error: unknown): string {
  return readable(() => {
    const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown };
    return (
      [code, name].find((type): type is string => typeof type === 'string' && TYPE_PATTERN.test(type)) ?? 'unknown'
    );
  }, 'unknown');
}

/** The parts of an error, or of an object that was thrown in place of one. */
type Thrown = Readonly<Partial<Record<'name' | 'message' | 'code' | 'cause', unknown>>>;

/**
 * The message, or else the code: Node.js has only that if none of a host's addresses answers. Without the values that
 * Drizzle adds: they may be personal data.
 */
function messageOf({ message, code }: Thrown): string {
  const text = [message, code].find((each): each is string => typeof each === 'string' && each !== '') ?? '';
  return text.replace(/\nparams: [^]*/, '');
}

function textOf(thrown: Thrown): string {
  const name = typeof thrown.name === 'string' ? thrown.name : '';
  return [name, messageOf(thrown)].filter(Boolean).join(': ');
}

function textWithCause(thrown: Thrown): string {
  const { cause } = thrown;
  if (!(cause instanceof Error) || messageOf(thrown).includes(cause.message)) return textOf(thrown);
  return `${textOf(thrown).slice(0, 200)} (${textOf(cause)})`;
}

/** The message of any thrown value, fit for a log line or a column: one line, limited length, card numbers masked. */
export function describeError(error: unknown, limit = 500): string {
  return readable(() => {
    const line = maskedLine((isObject(error) && textWithCause(error)) || String(error), limit + 1);
    return line.length > limit ? `${cleanLine(line.slice(0, limit - 1))}…` : line;
  }, 'A value that cannot be described was thrown.');
}
