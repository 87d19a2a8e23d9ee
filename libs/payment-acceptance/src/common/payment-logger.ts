import { ConsoleLogger, Logger } from '@nestjs/common';
import { shownText } from './text.js';

/** The structured fields of a log line, for machines; its text says the same to people. Ids and kinds, never a secret. */
export interface LogFields {
  readonly shop?: string;
  readonly orderId?: string;
  /** The service's `bill_id`. */
  readonly billId?: string | null;
  /** Id of our bill. */
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
  /** Code of the error. */
  readonly error?: string;
}

/**
 * Since version 12, Nest's logger takes an object after the message as the line's fields: `params` in JSON, otherwise
 * appended to the message. Older versions would print it as a separate line, so they get the message alone.
 */
const TAKES_FIELDS = 'stringifyParams' in ConsoleLogger.prototype;

/**
 * Nest's `Logger`, with structured fields where the host's version supports them. Control characters are replaced in both
 * message and fields, since strangers may choose parts of them, such as an order id.
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
