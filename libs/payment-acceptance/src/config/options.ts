import type { Judge } from '../domain/payment.js';
import type { CheckScheduleOptions } from '../domain/schedule-options.js';
import type { ForwardPostback, PaymentResultRenderer } from './hooks.js';
import type {
  PaymentShopOptions,
  PaymentShopResolver,
  ServiceHttpOptions,
  ShopLookupOptions,
} from './service-options.js';

/** The worker that asks the service about bills. */
export interface ConfirmerOptions {
  /**
   * Most requests to the service at once; of one shop half of them at most where there are several shops. How many there are
   * follows from how the service answers: 8 of a shop at first, twice as many with each round trip, fewer where it fails,
   * refuses or becomes slow. Default 128.
   */
  concurrency?: number;
  /**
   * How often to look for due bills where nothing tells of any, in milliseconds. What is known to be due earlier is looked
   * for then. Default 5000.
   */
  pollMs?: number;
  /** How long a claimed bill is left alone by other instances; longer than a request may take. Default 30000, or twice that. */
  leaseMs?: number;
}

/** The worker that hands events to consumers. */
export interface DeliveryOptions {
  /**
   * Most deliveries at once; of one consumer, or of all brokers together, half of them at most where there are others. How
   * many there are follows from the pool: handlers in transactions hold a connection each, together half of the pool's at
   * most, and none that the host has in use. Default 32.
   */
  concurrency?: number;
  /**
   * How often to look for due deliveries where nothing tells of any, in milliseconds. What is known to be due earlier is
   * looked for then. Default 5000.
   */
  pollMs?: number;
  /**
   * Time limit of one attempt, in milliseconds; then its signal aborts and its connection is destroyed. It runs from when
   * the handler has its connection. One that has none after this time, or 10 s where that is less, goes back for a pause of
   * at most 30 s: that is no attempt. Default 30000.
   */
  timeLimitMs?: number;
  /**
   * How long a running attempt may go on when the application shuts down, in milliseconds, and how long any worker's query
   * is waited for then, as where the pool has no connection to give. Default 10000.
   */
  shutdownMs?: number;
  /**
   * Attempts before a delivery becomes a dead letter. Default 60: with the default pauses the last one is 24 to 48 hours
   * after the first, and eleven of them are within its first half hour. An attempt that ends with its process counts too, and
   * is followed by the next as soon as its lease is over. A handler that throws an `PaymentOrderNotFoundError` has 60 at least.
   */
  maxAttempts?: number;
  /**
   * First pause between attempts, in milliseconds. It doubles each time, and of each a random part from one half to the whole
   * is taken. Default 1000.
   */
  retryBaseMs?: number;
  /** Longest pause between attempts, in milliseconds. Default 1 hour. */
  retryCapMs?: number;
}

/** Receiving the service's postbacks and the payer's redirects. */
export interface CallbackOptions {
  /** Body of the 200 that acknowledges a stored postback (not shown in the specification). Default `OK`. */
  replyBody?: string;
  /** Its `Content-Type`, as in `application/json` for `{"status":"ok"}`. Default `text/plain; charset=utf-8` (assumed). */
  replyContentType?: string;
  /**
   * Most postbacks of each shop that wait for a bill which we do not know; beyond it the answer is 503. They wait for 30
   * days. So do those that `forwardUnknown` has accepted, as many beside them; further ones leave no record. Default 10000.
   */
  maxUnmatched?: number;
  /**
   * How often the service of each shop is asked for a bill that a postback names and that we do not have, by all instances
   * together; 0: never, and then a bill whose commit was lost is not noticed. It bounds what made-up postbacks can
   * cause. Bills of postbacks that `forwardUnknown` has accepted are not asked for. Default 240.
   */
  inquiriesPerHour?: number;
  /**
   * Callbacks that are kept of each bill, beside those that wait for their answer; beyond it a further one that repeats
   * what one of these asks for is answered 200 without a record, and any other takes the place of a later one. Default 100.
   */
  maxPerBill?: number;
  /**
   * Refuse postbacks whose digest is absent or does not match the redirect's formula. The postback's formula is not
   * documented, so this turns genuine postbacks away if the service uses another one. Default `false`.
   */
  requirePostbackDigest?: boolean;
  /**
   * How long the result page waits for the check that the redirect asked for, in milliseconds, before it says that the
   * payment is being checked. Default 3000: a little longer than `schedule.minGapMs`.
   */
  resultWaitMs?: number;
  /** Result pages of this instance that wait so at once; further ones are shown without waiting. Default 200. */
  maxWaitingResults?: number;
  /**
   * Takes postbacks whose `TrsId` is no bill of ours, for an older integration that still has open bills (assumed). Only
   * after it has resolved is the postback answered: 200 where it accepted or declined, 503 where it failed. One that it
   * accepted is kept, too, and asks for a check should its bill turn out to be ours. Without it the bills of an older
   * integration under the same `shopId` count as lost (`lost-bills`) as soon as a postback names them. Default: none.
   */
  forwardUnknown?: ForwardPostback;
  /** How long that may take before the answer is 503, in milliseconds. Default 10000. */
  forwardTimeoutMs?: number;
  /**
   * Postbacks of this instance that are forwarded at once; a further one is answered 503 and comes again. One whose time
   * is over no longer counts. Default 20.
   */
  maxForwards?: number;
  /** How long storing a callback may take before the answer is 503, in milliseconds. Default 10000. */
  storeTimeoutMs?: number;
  /**
   * Callbacks of this instance that wait to be stored at once; a further one is answered 503 with `Retry-After`. Half of
   * them at most may be other than the common case: of no bill that we know, or of one that has `maxPerBill`. Each takes a
   * few kilobytes, at most 20. Default 5000.
   */
  maxQueued?: number;
  /** How long the link to the result page works, in milliseconds. Default 1 hour. */
  resultTicketMs?: number;
}

/** Creating bills. */
export interface CreationOptions {
  /** How long `createBill` waits for another call that is creating the same bill, in milliseconds. Default 5000. */
  waitMs?: number;
  /**
   * After which a creation that never ended counts as an unknown outcome, in milliseconds. Default 2 minutes, or twice what
   * its requests may take.
   */
  leaseMs?: number;
  /**
   * How long `createBill` waits until the service's answer is stored, in milliseconds; it is then stored in the background,
   * and the call fails with `PaymentBillNotStoredError`. Default 4500.
   */
  storeTimeoutMs?: number;
}

/** What is removed with age, by instances that run workers. Ages in milliseconds; `null` keeps for ever. */
export interface RetentionOptions {
  /** Age at which the raw fields of a consumed callback are emptied; what was found out about it stays. Default 30 days. */
  redactCallbacksAfterMs?: number | null;
  /** Age at which a consumed callback is deleted. Default 90 days. */
  deleteCallbacksAfterMs?: number | null;
  /** Age at which a delivery that is done is deleted; its event stays. Default `null`. */
  deleteDeliveriesAfterMs?: number | null;
  /** Most rows of one statement. Default 500. */
  batchSize?: number;
  /** Pause between two batches, in milliseconds. Default 200. */
  pauseMs?: number;
  /** Pause after nothing was left to remove, in milliseconds. Default 10 minutes. */
  everyMs?: number;
}

/** Options of `PaymentAcceptanceModule`, given to `forRoot` or made by the factory of `forRootAsync`. */
export interface PaymentAcceptanceOptions {
  /**
   * The shops, by a name of your choosing (letters, digits, `-` and `_`), used in routes, events and injection. At least
   * one, unless there is a `shopResolver`.
   */
  shops?: Record<string, PaymentShopOptions>;
  /**
   * Finds the shops that are not in `shops`. For a service of the host's, inject it into the factory of `forRootAsync`.
   * Default: none.
   */
  shopResolver?: PaymentShopResolver;
  shopLookup?: ShopLookupOptions;
  /**
   * The shop of the unnamed routes and of `PaymentAcceptanceService`. Default: the only one of `shops`, or the one named
   * `main`, which may come from the resolver.
   */
  defaultShop?: string;
  http?: ServiceHttpOptions;
  /**
   * Base address under which the service reaches this application, such as `https://shop.example`, with the path that a
   * proxy takes away; in production https. The log at start, and `payment-acceptance doctor`, then give the addresses of the
   * callbacks whole, as they are to be entered at the service. Nothing else follows from it. Default: none.
   */
  publicUrl?: string;
  schedule?: CheckScheduleOptions;
  confirmer?: ConfirmerOptions;
  deliveries?: DeliveryOptions;
  callbacks?: CallbackOptions;
  creation?: CreationOptions;
  /**
   * What is removed with age: callbacks that have had their answer and, where it is said, deliveries that are done. Bills,
   * payments, events and reviews are kept. `false` removes nothing.
   */
  retention?: RetentionOptions | false;
  /** Decides what a SUCCESS payment means for its bill. Default: `defaultJudge`. */
  judge?: Judge;
  /** Draws the page that the payer sees after the redirect, or sends the payer on. Default: a plain page of our own. */
  resultPage?: PaymentResultRenderer;
  /**
   * Whether the module brings its tables up to date by itself at start (`run`), or fails when they are behind
   * (`verify`). Default: `verify` when `NODE_ENV` is `production`, else `run`.
   */
  migrations?: 'run' | 'verify';
  /**
   * Where the module's tables are: a schema of this name on PostgreSQL, on MariaDB the prefix of their names, with `_`. Two applications that share a database need two:
   * on the same tables an instance leaves events of shops that it does not know to others, and a shop whose name stands for
   * another `shopId` there refuses the start. Default `payment_acceptance`.
   */
  schema?: string;
  /**
   * How long a statement of the module's own may take, in milliseconds. One that takes longer, behind a lock or on a connection
   * whose other side is gone, fails and loses its connection, so that the pool has room for another. The pool has as long to
   * give it a connection. What reads or removes much (retention, reconciliation, past events, `readLedger`) has a minute, a
   * statement of a migration an hour, what handlers send `deliveries.timeLimitMs`. Default 10000.
   */
  statementTimeoutMs?: number;
  /**
   * How instances on one database learn at once of work that another one has made: `listen` keeps one connection beside
   * the pool for PostgreSQL's LISTEN and NOTIFY; with `poll` they find it at their next look (`confirmer.pollMs`,
   * `deliveries.pollMs`). A PgBouncer that pools transactions cannot listen: that is noticed, and polling remains.
   * Within one instance work is always seen at once. Default `listen`.
   */
  wakeUps?: 'listen' | 'poll';
  /**
   * Whether the workers run by themselves from the start of the application on. With `false` they do only what
   * `Confirmer.runOnce()`, `DeliveryWorker.runOnce()` and `BillInquiry.runOnce()` are called for: in tests, or driven by a
   * scheduler of the host.
   * Default `true`.
   */
  autoStart?: boolean;
}
