import { ConsoleLogger, Logger } from '@nestjs/common';
import { shownText } from './text.js';

/** What a log line is about, for machines: the line itself says the same to people. Ids and kinds only, never a secret. */
export interface LogFields {
  readonly shop?: string;
  readonly orderId?: string;
  /** The service's `bill_id`. */
  readonly billId?: string | null;
  /** Id of our bill. */
  readonly intentId?: string;
  /** The claim under which a bill was checked: every line of one check has the same. */
  readonly check?: string;
  readonly callback?: string;
  readonly event?: string;
  readonly eventId?: string;
  readonly consumer?: string;
  readonly deliveryId?: string;
  readonly attempt?: number;
  /** When the work is done again, in milliseconds. */
  readonly againInMs?: number;
  /** Code of the error. */
  readonly error?: string;
}

/**
 * From version 12 on, Nest's logger takes an object after the message as the fields of the line: `params` in JSON, behind
 * the message otherwise. Before, it would print the object as a line of its own, so there the message stands alone.
 */
const TAKES_FIELDS = 'stringifyParams' in ConsoleLogger.prototype;

/**
 * Nest's `Logger` with a line's fields beside its message, in the form that the host's logger shows best. Neither holds what
 * a terminal would obey, whoever chose an order's id.
 */
export class PaymentLogger {
  private readonly logger: Logger;

  constructor(context: string) {
    this.logger = new Logger(context);
  }

  debug(message: string, fields: LogFields = {}): void {
    this.logger.debug(shownText(message), ...parameters(fields));
  }

  log(message: string, fields: LogFields = {}): void {
    this.logger.log(shownText(message), ...parameters(fields));
  }

  warn(message: string, fields: LogFields = {}): void {
    this.logger.warn(shownText(message), ...parameters(fields));
  }

  error(message: string, fields: LogFields = {}): void {
    this.logger.error(shownText(message), ...parameters(fields));
  }
}

function parameters(fields: LogFields): object[] {
  const given = Object.entries(fields as Readonly<Record<string, unknown>>)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => [name, typeof value === 'string' ? shownText(value) : value] as const);
  return TAKES_FIELDS && given.length > 0 ? [Object.fromEntries(given)] : [];
}
