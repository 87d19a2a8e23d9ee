/** The levels of Nest's logger that are used. */
export type LogLevel = 'debug' | 'log' | 'warn' | 'error';

/** What all lines with one code have in common. */
export interface LogLine {
  readonly level: LogLevel;
  readonly meaning: string;
  /** What a person has to do about it. */
  readonly action: string;
}

const debug = (meaning: string, action: string): LogLine => ({ level: 'debug', meaning, action });
const log = (meaning: string, action: string): LogLine => ({ level: 'log', meaning, action });
const warn = (meaning: string, action: string): LogLine => ({ level: 'warn', meaning, action });
const error = (meaning: string, action: string): LogLine => ({ level: 'error', meaning, action });

const NOTHING = 'Nothing.';

/**
 * Every line that the module logs, by its code. Alerts and searches are built on codes, so one that has been released keeps
 * its name and its meaning. docs/operations.md shows this table.
 */
export const LOG_LINES = {
  // Start and shutdown
  started: log('The module is ready: `version`, `role`, number of `shops`, `routes` of the callbacks.', NOTHING),
  'configuration-warning': warn(
    'An option, or a setting from the shop resolver, is allowed but unwise.',
    'Change what it names.',
  ),
  'body-parser-off': error(
    'Something consumed the body of a callback before the module could read it. The callback got 503.',
    'Exempt callbacks from what the line names, or keep the bytes in `rawBody`.',
  ),
  'callback-misaddressed': error(
    'Callbacks arrive at an address that the application does not serve, for example without its global prefix, and get 404.',
    'In the settings of the service, enter the address that the log line names.',
  ),
  'shop-moved': warn(
    'The `apiBaseUrl` of a shop has changed.',
    'If it is a different service, give it its own `schema`.',
  ),
  'shutdown-incomplete': error(
    'The shutdown continued without waiting for work that had not finished in time.',
    'Check the database. The work is taken over when its lease expires.',
  ),

  // Creating bills
  'bill-created': log(
    'The second record of a bill, which `import --from-log` reads: its text is the record, without a code or fields.',
    'Keep it.',
  ),
  'bill-created-in-transaction': warn(
    '`createBill` was called inside a transaction of the application. Logged once.',
    'Call it after the commit.',
  ),
  'creation-refused': warn(
    'The service refused to create a bill; `createBill` throws the corresponding error. At most once a minute per shop.',
    "Check the service's message, and the shop's `shopId` and token.",
  ),
  'creation-contradicted': error(
    'The service created a bill that contradicts the ledger: its id belongs to another bill, or its intent has another bill or was voided.',
    'Look up the bill at the service. Import it if it is payable and not known here. If it was voided, the bill is now open again.',
  ),
  'creation-unknown': error(
    'The outcome of a creation was not stored within its lease, so the bill may exist.',
    'Look it up at the service, then `attachBill` or `voidBill`.',
  ),
  'outcome-not-stored': error(
    "The service's answer to a creation could not be stored. Storing it is retried until the application stops.",
    'Check the database.',
  ),
  'outcome-stored': log('An answer that `outcome-not-stored` reported is now stored.', NOTHING),
  'outcome-abandoned': error(
    "The application stopped before the service's answer to a creation was stored.",
    'Record it manually, as the line says.',
  ),
  'commit-lost': warn(
    'The database lost a committed intent, as after a failover. It was stored again.',
    'Run `payment-acceptance recover`.',
  ),
  'callbacks-not-linked': warn(
    'Postbacks that arrived before their bill are not linked to it yet.',
    'Nothing: the bill is checked by its schedule.',
  ),

  'checkout-failed': error(
    'A checkout call failed for a reason that its caller did not cause, and `PaymentExceptionFilter` answered it.',
    'Look up `error`, an error code.',
  ),

  // Callbacks
  'callback-not-stored': error(
    'A callback got 503: it could not be stored, or its shop could not be read. The sender will retry it.',
    'Check `error`: the database, or the shop resolver.',
  ),
  'callback-refused': warn(
    'A callback got 400 because it does not match the specification, or the application itself answered it (`dropped`). None of it is stored.',
    "The line describes it: compare it with the service's settings. Exempt callbacks from whatever answers them.",
  ),
  'callbacks-bounded': warn(
    'Callbacks hit a flood limit or failed the digest check: `dropped` says which, as in `PaymentOperations.stats()`.',
    'Find out whether it is an attack or real load: [floods](security.md#floods).',
  ),
  'result-failed': error(
    'The page after the redirect could not be shown. The payment is not affected.',
    'Check `error`: the database, or `resultPage`.',
  ),

  // Checking bills
  'check-failed': warn(
    'A bill could not be checked. It will be retried in `againInMs`.',
    'If there are many, check `error`.',
  ),
  'check-given-up': warn(
    'The service permanently refuses a bill, which is no longer checked. If it was unpaid, a review is open.',
    'Accept or dismiss the review.',
  ),
  'check-stale': debug('A later check of the bill made an answer stale.', NOTHING),
  'checks-not-retried': warn(
    'The service is back, but postponed bills still wait for their scheduled time.',
    'Nothing, unless it persists: then check the database.',
  ),
  'claim-incomplete': error('The bills of some shops could not be claimed.', 'Check the database.'),
  'payments-unreadable': warn(
    'The service lists payments that cannot be read. The others are settled, and a review is open.',
    'Accept or dismiss the review, and ask the service.',
  ),
  'unknown-status': error(
    'The service lists a payment with a status that is not in the specification. A review is open.',
    'Ask the service what it means, accept or dismiss the review, and set the option `judge` if more are expected.',
  ),
  'settlement-timed-out': error(
    'A settlement did not finish in time. The bill will be checked again.',
    'Check for locks, and check the pool.',
  ),
  'inquiry-failed': warn('The service could not be asked about a bill that only a postback names.', NOTHING),
  'lost-bill-found': error(
    'The service has a bill, with payments, that the ledger does not have.',
    'Find its order, and import it: [lost bills](#lost-bills).',
  ),

  // Shops
  'shop-refused': error(
    'The service refuses a shop. Its bills wait, and it is probed every minute.',
    'Set its new token, or contact the service.',
  ),
  'shop-accepted': log('The service accepts the shop again.', NOTHING),
  'shop-unusable': error(
    'The settings of a shop cannot be read, or are wrong. Its bills wait.',
    'Fix the shop resolver, or the settings.',
  ),
  'shop-lookup-failed': error('The shop resolver failed to reload a token.', 'Fix the shop resolver.'),
  'shops-not-listed': error(
    'The shop resolver returns no list: new and removed shops go unnoticed.',
    'Fix the shop resolver.',
  ),
  'shop-removed': error(
    "A shop with bills is in the tables, but not in the options or the resolver's list. They are not checked here.",
    'Restore it until its bills have ended.',
  ),
  'shop-foreign': error(
    'There are events of a shop that this instance does not know. They are left to instances that know it.',
    'Give another application its own `schema`; restore a removed shop.',
  ),

  // Events
  'event-without-consumer': warn(
    'No consumer takes an event. It is stored and not delivered.',
    'Add a handler; `deliver` sends past events to it.',
  ),
  'delivery-failed': warn(
    'An attempt failed. It will be retried in `againInMs`.',
    'Check `error`, and fix the handler.',
  ),
  'delivery-dead': error('A delivery was given up and is now a dead letter.', 'Fix the handler, then `replay`.'),
  'delivery-not-begun': warn(
    'A delivery could not begin: there was no connection to the database, or the broker did not answer. It is not counted as an attempt.',
    'If there are many, check the pool or the broker.',
  ),
  'delivery-taken-over': warn(
    'An attempt failed, but its delivery had already been completed or taken over.',
    'If there are many, handlers run longer than `deliveries.timeoutMs`.',
  ),
  'deliveries-not-freed': warn(
    'Deliveries queued behind others could not be released. They will continue within a minute.',
    NOTHING,
  ),
  'consumer-absent': warn(
    'No instance has hosted a consumer for an hour. Its events are kept.',
    'Was it renamed or removed? Restore it, or run `payment-acceptance retire-consumer`.',
  ),
  'consumer-omits-shops': warn('A consumer here omits shops that another release names.', 'Nothing during a rollout.'),
  'broker-connected': log('Events are sent to the broker.', NOTHING),
  'broker-lost': warn('The connection to the broker was lost. Reconnecting; events are queued.', 'Check the broker.'),
  'broker-unreachable': error(
    'Cannot connect to the broker; events are queued. Logged once per outage.',
    'Check the broker and its address.',
  ),

  // Workers and the database
  'poll-failed': error('A worker could not poll for work. It will retry.', 'Check the database.'),
  'work-failed': error('Work failed unexpectedly. It will be retried when its lease expires.', 'Check `error`.'),
  'removal-failed': error('Old records could not be removed. It will be retried.', 'Check the database.'),
  'wake-ups-lost': warn(
    'The connection that listens to other instances was lost. Their work is found by polling.',
    NOTHING,
  ),
  'wake-ups-restored': log('Listening to other instances again.', NOTHING),
  'wake-ups-unheard': warn(
    'Signals from other instances do not arrive, as happens behind PgBouncer in transaction mode.',
    'Set `wakeUps: "poll"`, or poll more often.',
  ),
  'statements-unprepared': warn(
    'A connection lost a prepared statement, so statements are no longer prepared.',
    'Nothing. To prepare them again, let the pooler keep them (PgBouncer: `max_prepared_statements`), then restart.',
  ),

  // What the host adds
  'telemetry-failed': warn(
    'The OpenTelemetry SDK threw. Payments are not affected. Logged once.',
    'Check its configuration.',
  ),
} as const satisfies Readonly<Record<string, LogLine>>;

/** Stable name of a kind of log line. */
export type LogCode = keyof typeof LOG_LINES;
