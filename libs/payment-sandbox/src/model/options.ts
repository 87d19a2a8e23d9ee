import type { Clock, Duration } from '../common/time.js';
import type { Instant, ShopSettings } from './entities.js';

/** A shop's settings as given from outside: all but the token have defaults. */
export type ShopInput = Partial<ShopSettings> & Pick<ShopSettings, 'apiToken'>;

/** Options of a sandbox. */
export interface PaymentSandboxOptions {
  /**
   * Shops by id. A shop that already exists (`dataDir`) keeps what was set through the control interface; its other
   * settings follow these.
   */
  shops?: Record<string, ShopInput>;
  /** Folder of the journal, created if missing. Default: none; all state is in memory. */
  dataDir?: string;
  /** Source of the time, which `POST /sandbox/clock` moves on. Default: the machine's clock. */
  clock?: Clock;
  /** Seed of the faults' dice if the fault document names none. Default 1. */
  seed?: number;
  /**
   * Delays before a postback that did not get a 200 is sent again, each counted from the end of the previous attempt.
   * Default (assumed): five retries, after 10 s, 100 s, 1000 s, 10000 s and 100000 s.
   */
  postbackRetryDelays?: Duration[];
  /** Timeout of one attempt to deliver a postback. Default "10s" (assumed). */
  postbackTimeout?: Duration;
  /**
   * How long a payment made on the payer's page stays in NEW, and again in PROCESS. Default "0s": the result is
   * immediate, as it always is through the control interface.
   */
  processingTime?: Duration;
  /**
   * Address of the payer's pages, `{pay_url}` of the specification, without a path. Default: the address of the API
   * call.
   */
  payUrl?: string;
  /**
   * Host names besides `localhost` under which the control interface and the console answer, such as a container's. If
   * any is given, other machines have access too. Default: none; only this machine has access.
   */
  controlHosts?: string[];
  /**
   * Whether to probe a shop that refuses a postback, to find out why: the sandbox then sends it postbacks for an order that
   * cannot exist, under or without a prefix such as `/api`, or in both formats. Default false.
   */
  diagnose?: boolean;
  /**
   * Receives a line for each request to the API and each attempt to deliver a postback, as the program prints them.
   * Default: none.
   */
  log?: (line: LogLine) => void;
}

export const SANDBOX_OPTIONS = Symbol.for('payment-sandbox/options');

/** One line for the terminal: a request to the API and its answer, or an attempt to deliver a postback. */
export interface LogLine {
  /** On the sandbox's clock. */
  at: Instant;
  /** Without the time, line breaks or control characters. */
  text: string;
  /** Whether something went wrong; the text says what. */
  problem: boolean;
}

/** Makes text from outside safe to print: it cannot control the terminal or break the line. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
}
