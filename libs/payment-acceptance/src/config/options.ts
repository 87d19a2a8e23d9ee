import type { Judge } from '../domain/payment.js';
import type { CheckScheduleOptions } from '../domain/schedule-options.js';
import type { PaymentStorageOptions } from '../database/storage-options.js';
import type { PaymentTransactions } from '../database/payment-transactions.js';
import type { PaymentResultRenderer } from './hooks.js';
import type { PaymentShopOptions, PaymentShopResolver, ServiceHttpOptions } from './service-options.js';

/** The worker that asks the service about bills. */
export interface CheckOptions {
  /**
   * Maximum concurrent requests to the service, and bills claimed at a time; one of several shops gets at most half, and
   * so do all shops at one of several hosts. The actual number starts at 8 for each shop, doubles with every round trip,
   * and shrinks when the service fails, refuses or slows down. Default 128.
   */
  concurrency?: number;
}

/** The worker that hands events to consumers. */
export interface DeliveryOptions {
  /**
   * Maximum concurrent deliveries. One consumer, or all brokers together, get at most half if there are others.
   * Handlers in transactions hold a connection each: at most half of the pool, and none that the host uses. Default 32.
   */
  concurrency?: number;
  /**
   * Time limit of an attempt, from when its handler gets a connection. Then its signal aborts, and the connection is
   * destroyed. A delivery that gets no connection within this time, or 10 s if that is less, goes back for up to 30 s;
   * that does not count as an attempt. Default 30000.
   */
  timeoutMs?: number;
  /**
   * Attempts before a delivery becomes a dead letter. One whose process dies counts; the next comes when its lease
   * expires. A `PaymentOrderNotFoundError` gets at least 60. Default 60: with the default pauses, eleven in the first
   * half hour, and the last one 24 to 48 hours after the first.
   */
  maxAttempts?: number;
  /**
   * Longest pause between attempts. The first is a second; they double, and each is shortened at random by up to a
   * half. Default 1 hour.
   */
  retryCapMs?: number;
}

/** Receiving the service's postbacks and the payer's redirects. */
export interface CallbackOptions {
  /** Body of the 200 that acknowledges a stored postback (assumed). Default `OK`. */
  replyBody?: string;
  /**
   * Its `Content-Type`, such as `application/json` for `{"status":"ok"}`. Default `text/plain; charset=utf-8`
   * (assumed).
   */
  replyContentType?: string;
  /**
   * How often, at most, all instances together ask a shop's service about unknown bills that postbacks name. This
   * limits what made-up postbacks cause, and how soon a genuine one among them is found: 10,000 bills take seven
   * minutes by default. With 0 none asks, and a bill whose commit was lost goes unnoticed. Default 90000, which is 25 a
   * second.
   */
  inquiriesPerHour?: number;
  /**
   * Whether to refuse postbacks whose digest is missing or does not match the redirect's formula. The postback's
   * formula is not documented: if it differs, genuine postbacks are refused. Default `false`.
   */
  requirePostbackDigest?: boolean;
  /**
   * How long the result page waits for the check that its redirect triggered, before it says that the payment is being
   * checked. Default 3000, since checks of a bill are two seconds apart.
   */
  resultWaitMs?: number;
}

/** What instances that run workers remove, and at which age; `null` means never. */
export interface RetentionOptions {
  /**
   * Age at which the raw fields of a consumed callback are emptied; what was derived from them stays. Default 30 days.
   */
  redactCallbacksAfterMs?: number | null;
  /** Age at which a consumed callback is deleted. Default 90 days. */
  deleteCallbacksAfterMs?: number | null;
  /**
   * Age of a bill since its creation at which its personal data is removed, once the bill is over: it is no longer
   * followed, and has neither an open review nor a delivery that waits or is a dead letter. Operators' notes of that age
   * go, too; ids, amounts and states stay: docs/privacy.md. Default `null`.
   */
  redactBillsAfterMs?: number | null;
}

/** Options of `PaymentAcceptanceModule.forRoot`, or returned by the factory of `forRootAsync`. */
export interface PaymentAcceptanceOptions {
  /**
   * The shops, each under a name of your choice (letters, digits, `-` and `_`) for routes, events and injection. A shop
   * with bills keeps its name. At least one, unless there is a `shopResolver`.
   */
  shops?: Record<string, PaymentShopOptions>;
  /** Finds the shops that are not in `shops`. Default: none. */
  shopResolver?: PaymentShopResolver;
  /**
   * The shop of `PaymentAcceptanceService` and of routes without a shop's name. Default: the only one in `shops`, or
   * `main`, which may come from the resolver.
   */
  defaultShop?: string;
  http?: ServiceHttpOptions;
  /**
   * Base address at which the service reaches this application, such as `https://shop.example`, with any path that a
   * proxy strips; https in production. Only so that the log at start and `payment-acceptance doctor` show the
   * callbacks' full addresses, as you enter them at the service. Default: none.
   */
  publicUrl?: string;
  schedule?: CheckScheduleOptions;
  checks?: CheckOptions;
  deliveries?: DeliveryOptions;
  callbacks?: CallbackOptions;
  /** `false` removes nothing. Bills, payments, events and reviews always stay. */
  retention?: RetentionOptions | false;
  /** Decides what a SUCCESS payment means for its bill. Default: `defaultJudge`. */
  judge?: Judge;
  /**
   * For applications without a TypeORM data source: an address, or a pool of yours; handlers then need `transactions`.
   * Default: the database of the TypeORM data source.
   */
  storage?: PaymentStorageOptions;
  /**
   * The data layer in whose transactions handlers run, if not TypeORM, on the database of the module's tables:
   * `prismaTransactions(prisma)` or a sibling. Default: those of the TypeORM data source.
   */
  transactions?: PaymentTransactions;
  /**
   * `once`: handlers write through a transaction that also marks their delivery as done. `at-least-once`: for orders in
   * another database than the module's tables. All handlers then get no transaction, and are called again if the
   * process ends between their work and the mark: store `deliveryId` with the order, and do nothing if it is already
   * there. Default `once`.
   */
  handlers?: 'once' | 'at-least-once';
  /** Renders, within 10 s, what the payer sees after the redirect, or redirects them. Default: a plain page. */
  resultPage?: PaymentResultRenderer;
  /**
   * Whether the module updates its tables at start (`run`), or refuses to start when they are behind (`verify`).
   * Default: `verify` when `NODE_ENV` is `production`, otherwise `run`.
   */
  migrations?: 'run' | 'verify';
  /**
   * Schema of the module's tables on PostgreSQL; on MariaDB, the prefix of their names, followed by `_`. Two
   * applications on one database need two: on the same tables, an instance leaves events of unknown shops to others,
   * and an application with another `shopId` under a shop's name does not start. Default `payment_acceptance`.
   */
  schema?: string;
  /**
   * Time limit of the module's own statements, and of waiting for a connection from the pool. A statement beyond it
   * (behind a lock, or the server is gone) fails, and its connection is destroyed. Statements on many rows (retention,
   * past events) have a minute, of reports half an hour, of a migration an hour, of handlers `deliveries.timeoutMs`.
   * Default 10000.
   */
  statementTimeoutMs?: number;
  /**
   * How instances on one database learn of each other's work: `listen` by PostgreSQL's LISTEN and NOTIFY, on one
   * connection outside the pool, `poll` when they poll next (`pollMs`). Through a PgBouncer that pools transactions
   * LISTEN does not work; the module notices, and polls. An instance sees its own work at once. Default `listen`.
   */
  wakeUps?: 'listen' | 'poll';
  /**
   * How often workers poll for due bills and deliveries that nothing announces. What is known to be due earlier is
   * picked up on time. Default 5000.
   */
  pollMs?: number;
  /**
   * How long running handlers may continue once the application shuts down. The shutdown waits as long for a worker's
   * query, as when the pool has no free connection. Default 10000.
   */
  shutdownTimeoutMs?: number;
  /**
   * Whether workers start by themselves: when the application listens, or, without an HTTP server and with the role
   * `workers`, with the application. With `false`, work happens only when you call `start()` of `PaymentWorkers`, or
   * `runOnce()` of one of them. Default `true`.
   */
  autoStart?: boolean;
}
