import type { Judge } from '../domain/payment.js';
import type { CheckScheduleOptions } from '../domain/schedule-options.js';
import type { PaymentStorageOptions } from '../database/storage-options.js';
import type { PaymentTransactions } from '../database/payment-transactions.js';
import type { PaymentResultRenderer } from './hooks.js';
import type { PaymentShopOptions, PaymentShopResolver, ServiceHttpOptions } from './service-options.js';

/** The worker that asks the service about bills. */
export interface CheckOptions {
  /**
   * Maximum concurrent requests to the service; no more bills are claimed at a time. With several shops, one shop gets at most half. The actual number adapts to
   * how the service answers: it starts at 8 for each shop, doubles with every round trip, and shrinks when the service fails,
   * refuses or slows down. Default 128.
   */
  concurrency?: number;
}

/** The worker that hands events to consumers. */
export interface DeliveryOptions {
  /**
   * Maximum concurrent deliveries. One consumer, or all brokers together, get at most half if there are others. The actual
   * number adapts to the connection pool: each handler in a transaction holds a connection, all handlers together at most half
   * of the pool, and only connections that the host does not use. Default 32.
   */
  concurrency?: number;
  /**
   * Time limit of an attempt, in milliseconds. When it is over, the attempt's signal aborts and its connection is destroyed.
   * The time counts from when the handler gets its connection. A delivery that gets none within this time, or within 10 s if
   * that is less, goes back for up to 30 s; that does not count as an attempt. Default 30000.
   */
  timeoutMs?: number;
  /**
   * Attempts before a delivery becomes a dead letter. Default 60: with the default pauses, eleven fall within the first half
   * hour, and the last one comes 24 to 48 hours after the first. An attempt whose process dies counts as well; the next one
   * follows when its lease expires. A handler that throws a `PaymentOrderNotFoundError` gets at least 60.
   */
  maxAttempts?: number;
  /**
   * Longest pause between attempts, in milliseconds. The first is a second; they double each time, and each is shortened at random by
   * up to a half. Default 1 hour.
   */
  retryCapMs?: number;
}

/** Receiving the service's postbacks and the payer's redirects. */
export interface CallbackOptions {
  /** Body of the 200 that acknowledges a stored postback (not shown in the specification). Default `OK`. */
  replyBody?: string;
  /**
   * Its `Content-Type`, for example `application/json` for `{"status":"ok"}`. Default `text/plain; charset=utf-8` (assumed).
   */
  replyContentType?: string;
  /**
   * How often, at most, all instances together ask a shop's service about unknown bills that postbacks name. This limits
   * what made-up postbacks can cause, and with it how soon a genuine one among them is found: by default, 10,000 bills are
   * asked about in seven minutes. With 0, no instance asks, and a bill whose commit was lost goes unnoticed. Default 90000,
   * which is 25 a second.
   */
  inquiriesPerHour?: number;
  /**
   * Whether to refuse postbacks whose digest is missing or does not match the redirect's formula. The postback's formula is
   * not documented: if the service uses another one, this turns genuine postbacks away. Default `false`.
   */
  requirePostbackDigest?: boolean;
  /**
   * How long the result page waits for the check that the redirect has triggered, in milliseconds, before it says that the
   * payment is being checked. Default 3000, since that check may have to wait for two seconds after the one before.
   */
  resultWaitMs?: number;
}

/** What instances that run workers remove once it is old enough. Ages are in milliseconds; `null` means never. */
export interface RetentionOptions {
  /** Age at which the raw fields of a consumed callback are emptied; what was derived from them stays. Default 30 days. */
  redactCallbacksAfterMs?: number | null;
  /** Age at which a consumed callback is deleted. Default 90 days. */
  deleteCallbacksAfterMs?: number | null;
  /**
   * Age of a bill since its creation at which its personal data is removed, once the bill is over: its description, name and
   * the shop's `custom`, card numbers of its payments, these fields of its events, the raw fields of its callbacks, error
   * texts; and the notes of operators' actions of that age. Ids, amounts and states stay. A bill is over when it is no
   * longer followed and has neither an open review nor a delivery that waits or is a dead letter. Default `null`.
   */
  redactBillsAfterMs?: number | null;
}

/** Options of `PaymentAcceptanceModule`, passed to `forRoot` or returned by the factory of `forRootAsync`. */
export interface PaymentAcceptanceOptions {
  /**
   * The shops, each under a name of your choice (letters, digits, `-` and `_`), which routes, events and injection use. A
   * shop with bills keeps its name. At least one, unless there is a `shopResolver`.
   */
  shops?: Record<string, PaymentShopOptions>;
  /**
   * Finds the shops that are not in `shops`. If it is a service of your application, inject it into the factory of
   * `forRootAsync`. Default: none.
   */
  shopResolver?: PaymentShopResolver;
  /**
   * The shop that `PaymentAcceptanceService` and the routes without a shop's name use. Default: the only one in `shops`, or
   * the one named `main`, which may come from the resolver.
   */
  defaultShop?: string;
  http?: ServiceHttpOptions;
  /**
   * Base address at which the service reaches this application, such as `https://shop.example`, including any path that a
   * proxy strips; https in production. With it, the log at start and `payment-acceptance doctor` show the full addresses of
   * the callbacks, as you enter them at the service. It has no other effect. Default: none.
   */
  publicUrl?: string;
  schedule?: CheckScheduleOptions;
  checks?: CheckOptions;
  deliveries?: DeliveryOptions;
  callbacks?: CallbackOptions;
  /**
   * Removes records that are old enough: consumed callbacks and, if you enable it, the personal data of bills. Bills, payments,
   * events and reviews themselves are kept. `false` removes nothing.
   */
  retention?: RetentionOptions | false;
  /** Decides what a SUCCESS payment means for its bill. Default: `defaultJudge`. */
  judge?: Judge;
  /**
   * Where the module's tables are, and how many connections of its own it opens. For applications without a TypeORM data source: an
   * address, or a pool of yours; handlers then need the option `transactions`. Default: the database of the TypeORM data source that
   * `dataSource` names.
   */
  storage?: PaymentStorageOptions;
  /**
   * The data layer in whose transactions handlers run, for hosts that do not write with TypeORM: `prismaTransactions(prisma)` and
   * its siblings make one. It must lead to the database of the module's tables. Default: transactions of the TypeORM data source.
   */
  transactions?: PaymentTransactions;
  /**
   * How often a handler's work can take effect. `once`: handlers write through a transaction that also marks their delivery as done.
   * `at-least-once`: for orders in a different database from the module's tables. Handlers then get no transaction, and are called
   * again if the process ends after their work but before the mark: store `deliveryId` with the order, and do nothing if it is already
   * there. Applies to all handlers. Default `once`.
   */
  handlers?: 'once' | 'at-least-once';
  /** Renders the page that the payer sees after the redirect, or redirects the payer further. Default: a plain page. */
  resultPage?: PaymentResultRenderer;
  /**
   * Whether the module updates its tables at start (`run`), or refuses to start when they are behind (`verify`). Default:
   * `verify` when `NODE_ENV` is `production`, otherwise `run`.
   */
  migrations?: 'run' | 'verify';
  /**
   * Where the module's tables are: a schema of this name on PostgreSQL; on MariaDB, the prefix of their names, followed by
   * `_`. Two applications that share a database need two names: on the same tables, an instance leaves events of shops it
   * does not know to others, and an application in which a shop's name stands for another `shopId` does not start. Default
   * `payment_acceptance`.
   */
  schema?: string;
  /**
   * Time limit of the module's own statements, in milliseconds. A statement that exceeds it, because it waits for a lock or
   * because the server is gone, fails and its connection is destroyed, so that the pool can open another. Waiting for a
   * connection from the pool has the same limit. Statements that read or delete many rows (retention, past events) have a
   * minute, those of reports half an hour, those of a migration an hour, those of handlers `deliveries.timeoutMs`.
   * Default 10000.
   */
  statementTimeoutMs?: number;
  /**
   * How instances on one database learn of work that another instance has created. `listen` keeps one connection outside the
   * pool for PostgreSQL's LISTEN and NOTIFY. With `poll`, they find it when they poll next (`pollMs`). LISTEN does not work through a PgBouncer that pools transactions; the module notices and polls.
   * Within one instance, new work is always seen at once. Default `listen`.
   */
  wakeUps?: 'listen' | 'poll';
  /**
   * How often the workers poll for due bills and deliveries when nothing announces any, in milliseconds. What is known to be
   * due earlier is picked up on time. Default 5000.
   */
  pollMs?: number;
  /**
   * How long attempts of handlers that are under way may continue once the application shuts down, in milliseconds. The shutdown waits
   * as long for any query of a worker, for example when the pool has no free connection. Default 10000.
   */
  shutdownTimeoutMs?: number;
  /**
   * Whether the workers start by themselves: when the application listens, or, in a process without an HTTP server and with
   * the role `workers`, with the application. With `false`, work happens only when you call `start()` of the
   * `PaymentWorkers`, or a test or your own scheduler calls `runOnce()` of one of them. Default `true`.
   */
  autoStart?: boolean;
}
