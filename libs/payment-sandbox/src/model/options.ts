import type { Clock } from '../common/clock.js';
import type { Duration } from '../common/duration.js';
import type { ShopSettings } from './entities.js';
import type { LogLine } from './log-line.js';

/** Settings of a sandbox as its owner gives them: all but the token have defaults. */
export type ShopInput = Partial<ShopSettings> & Pick<ShopSettings, 'apiToken'>;

/** How a sandbox is set up. */
export interface PaymentSandboxOptions {
  /**
   * Shops by identifier. A shop that is there already (`dataDir`) keeps what was set through the control interface;
   * settings that nobody changed follow what is given here.
   */
  shops?: Record<string, ShopInput>;
  /** Folder of the journal, made where it is missing. Default: none, all state is in memory. */
  dataDir?: string;
  /** Where the time comes from; `POST /sandbox/clock` moves on from it. Default: the machine's clock. */
  clock?: Clock;
  /** Seed of the faults' dice, where the fault document names none. Default 1. */
  seed?: number;
  /**
   * When a postback that was not answered with 200 is sent again, each counted from the end of the try before.
   * Default (assumed): 10 s, 100 s, 1000 s, 10000 s, 100000 s; five more tries.
   */
  postbackRetryDelays?: Duration[];
  /** How long one try of a postback may take in all. Default "10s" (assumed). */
  postbackTimeout?: Duration;
  /**
   * How long a payment made on the payer's page stays in NEW, and again in PROCESS. Default "0s": it has its result at
   * once, as one made through the control interface always does.
   */
  processingTime?: Duration;
  /**
   * Address of the payer's pages, `{pay_url}` of the specification. Default: the address that the API call was sent to.
   */
  payUrl?: string;
  /**
   * Names besides `localhost` under which the control interface and the console answer, such as a container's. Where
   * one is given, other machines may reach them too. Default: none, then only this machine may.
   */
  controlHosts?: string[];
  /**
   * Where a shop refuses a postback, sends it some more, for an order that cannot exist, to say why: under a prefix such as
   * `/api`, and in the other format. Default false; the program does so.
   */
  diagnose?: boolean;
  /**
   * Is told of each request to the API and of each try of a postback, a line each, as the program prints them. Default:
   * nobody is.
   */
  log?: (line: LogLine) => void;
}

/** Injection token of {@link PaymentSandboxOptions}. */
export const SANDBOX_OPTIONS = Symbol.for('payment-sandbox/options');
