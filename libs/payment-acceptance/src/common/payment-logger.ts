import { Logger } from '@nestjs/common';
import { inspect } from 'node:util';
import { describeError } from './errors.js';
import { LOG_LEVELS, type LogCode } from './log-lines.js';
import { maskCards } from './redact.js';
import { shownText } from './text.js';

/** The structured fields of a log line: ids and kinds that its text also contains, never a secret. */
export interface LogFields {
  readonly shop?: string;
  readonly orderId?: string;
  /** The service's `bill_id`. */
  readonly billId?: string | null;
  readonly intentId?: string;
  /** The claim's token: the same for every line about one check. */
  readonly check?: string;
  readonly callback?: string;
  readonly event?: string;
  readonly eventId?: string;
  readonly consumer?: string;
  readonly deliveryId?: string;
  readonly attempt?: number;
  /** Pause before the retry, in milliseconds. */
  readonly againInMs?: number;
  readonly error?: string;
  /** Which of the `DroppedCounts` has grown. */
  readonly dropped?: string;
  /** How many similar lines were left out since the last one. */
  readonly suppressed?: number;
  readonly version?: string;
  readonly role?: string;
  /** How many shops the options have. */
  readonly shops?: number;
  /** Where the service reaches the callbacks. */
  readonly routes?: readonly string[];
}

/** Ids of our own records, which must stay searchable. Ids from outside are masked before they get here. */
const ID_FIELDS: ReadonlySet<string> = new Set<keyof LogFields>([
  'orderId',
  'billId',
  'intentId',
  'check',
  'eventId',
  'deliveryId',
]);

/**
 * The only argument passed to Nest's logger. As text it is one readable line; its message is read from `message` by the
 * `ConsoleLogger` of NestJS 11 and 12 (as JSON) and nest-winston, and from `msg` by nestjs-pino.
 */
class LogLineRecord {
  readonly code: LogCode;
  readonly msg: string;

  constructor(code: LogCode, msg: string, fields: LogFields) {
    this.code = code;
    this.msg = shownText(msg);
    Object.assign(this, shownFields(fields));
  }

  /** For loggers that expect the text by this name. Not enumerable, so that it is not written twice. */
  get message(): string {
    return this.msg;
  }

  toString(): string {
    const { code, msg, ...fields } = this;
    const shown =
      Object.keys(fields).length === 0 ? '' : ` ${inspect(fields, { compact: true, breakLength: Infinity })}`;
    return `${code}: ${msg}${shown}`;
  }

  [inspect.custom](): string {
    return this.toString();
  }
}

/**
 * Replaces control characters, since outsiders may choose parts of a line, such as an order id. If the host's logger
 * throws, what is logged goes on.
 */
export class PaymentLogger {
  private readonly logger: Logger;

  constructor(context: string) {
    this.logger = new Logger(context);
  }

  write(code: LogCode, message: string, fields: LogFields = {}): void {
    this.log(code, new LogLineRecord(code, message, fields));
  }

  /** Writes a line that consists only of its text. */
  writePlain(code: 'bill-created', text: string): void {
    this.log(code, shownText(text));
  }

  private log(code: LogCode, line: LogLineRecord | string): void {
    try {
      this.logger[LOG_LEVELS[code]](line);
    } catch (error) {
      process.emitWarning(`The logger of the application failed. ${describeError(error)} The line: ${String(line)}`);
    }
  }
}

function shownFields(fields: LogFields): object {
  const entries = Object.entries(fields as Readonly<Record<string, unknown>>)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => [name, formatField(name, value)] as const);
  return Object.fromEntries(entries);
}

function formatField(name: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => formatField(name, each));
  if (typeof value !== 'string') return value;
  return shownText(ID_FIELDS.has(name) ? value : maskCards(value));
}
