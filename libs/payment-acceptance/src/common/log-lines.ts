/** The levels of Nest's logger that are used. */
export type LogLevel = 'debug' | 'log' | 'warn' | 'error';

/** What is the same about all lines of a code. */
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
    'An option, or a setting that the shop resolver gave, is allowed but unwise.',
    'Change what it names.',
  ),
  'body-parser-off': error(
    'A callback came with a body that something has read before the module could, and has left nowhere. It got 503.',
    'Let what the line names leave the callbacks alone, or keep the bytes in `rawBody`.',
  ),
  'callback-misaddressed': error(
    'Callbacks come to an address without the global prefix, and get 404.',
    'Enter the address that the line names at the service.',
  ),
  'shop-moved': warn(
    'A shop has another `apiBaseUrl` than before.',
    'If that is another service, give it a `schema` of its own.',
  ),
  'shutdown-incomplete': error(
    'The shutdown went on without work that had not ended in time.',
    'Look at the database. The work is taken over when its lease expires.',
  ),

  // Creating bills
  'bill-created': log(
    'The second record of a bill, which `import --from-log` reads: its text is the record, without a code or fields.',
    'Keep it.',
  ),
  'bill-created-in-transaction': warn(
    "`createBill` was called inside a transaction of the application's. Logged once.",
    'Call it after the commit.',
  ),
  'creation-refused': warn(
    'The service has refused a creation. No bill was made; `createBill` throws the same. At most once a minute for each shop.',
    "Look at what it says, and at the shop's `shopId` and token.",
  ),
  'creation-contradicted': error(
    'The service has made a bill that contradicts the ledger: its id is that of another bill, or its intent was ended.',
    'Look for the bill at the service, then `attachBill` or `voidBill`.',
  ),
  'creation-unknown': error(
    'The outcome of a creation was not stored within its lease: the bill may exist.',
    'Look for it at the service, then `attachBill` or `voidBill`.',
  ),
  'outcome-not-stored': error(
    "The database does not take the service's answer to a creation. It is tried again until the application stops.",
    'Look at the database.',
  ),
  'outcome-stored': log('An answer that `outcome-not-stored` was about is stored.', NOTHING),
  'outcome-abandoned': error(
    'The application stopped before such an answer was stored.',
    'Record it by hand, as the line says.',
  ),
  'commit-lost': warn(
    'The database has lost an intent after its commit, as after a failover. It was stored again.',
    'Run `payment-acceptance recover`.',
  ),
  'callbacks-not-linked': warn(
    'Postbacks that came before their bill are not linked to it yet.',
    'Nothing: the bill is checked by its schedule.',
  ),

  'checkout-failed': error(
    'A call of a checkout failed for no mistake of its own, and `PaymentExceptionFilter` answered it.',
    'Look at `error`, a code of the errors.',
  ),

  // Callbacks
  'callback-not-stored': error(
    'A callback got 503, since it could not be stored or its shop could not be read. The sender tries again.',
    'Look at `error`: the database, or the shop resolver.',
  ),
  'callback-refused': warn(
    'A callback got 400, since it is not what the specification says; or the application itself answered it (`dropped`). Nothing of it is stored.',
    "The line shows what it looked like: compare it with the service's settings. Exempt callbacks from what answers them.",
  ),
  'callbacks-bounded': warn(
    'A bound against floods, or a refused digest, concerns callbacks: `dropped` says which, as in `PaymentOperations.stats()`.',
    'Is it an attack, or real load? The option that the line names is the bound.',
  ),
  'result-failed': error(
    'The page after the redirect could not be shown. The payment is not affected.',
    'Look at `error`: the database, or `resultPage`.',
  ),

  // Checking bills
  'check-failed': warn('A bill could not be checked. It is tried again in `againInMs`.', 'Many: look at `error`.'),
  'check-given-up': warn(
    'The service refuses a bill for good. It is no longer checked, and a review is open.',
    'Decide the review.',
  ),
  'check-stale': debug('A later check of the bill made an answer stale.', NOTHING),
  'checks-not-hastened': warn(
    'The service is back, but bills that were put off wait for their time.',
    'Nothing, unless it goes on: look at the database.',
  ),
  'claim-incomplete': error('The bills of some shops could not be claimed.', 'Look at the database.'),
  'payments-unreadable': warn(
    'The service lists payments that cannot be read. The others are settled, and a review is open.',
    'Decide the review; ask the service.',
  ),
  'unknown-status': error(
    'The service lists a payment under a status that the specification does not have. A review is open.',
    'Ask the service what it means; decide the review, and set the option `judge` if there will be more.',
  ),
  'settlement-timed-out': error(
    'A settlement did not end in time. The bill is checked again.',
    'Look at locks, and at the pool.',
  ),
  'inquiry-failed': warn('The service could not be asked for a bill that only a postback names.', NOTHING),
  'lost-bill-found': error(
    'The service has a bill, with payments, that the ledger does not have.',
    'Find its order, and take it in: [lost bills](#lost-bills).',
  ),

  // Shops
  'shop-refused': error(
    'The service refuses a shop. Its bills wait, and it is probed every minute.',
    'Set its new token, or ask the service.',
  ),
  'shop-accepted': log('The service accepts the shop again.', NOTHING),
  'shop-unusable': error(
    'The settings of a shop cannot be read, or are wrong. Its bills wait.',
    'Mend the shop resolver, or the settings.',
  ),
  'shop-lookup-failed': error('The shop resolver failed when a token was to be read anew.', 'Mend the shop resolver.'),
  'shops-not-listed': error(
    'The shop resolver gives no list: new and removed shops are not seen.',
    'Mend the shop resolver.',
  ),
  'shop-removed': error(
    'A shop with bills is in the tables, but not in the options or the list of the resolver. They are not checked here.',
    'Bring it back until its bills have ended.',
  ),
  'shop-foreign': error(
    'There are events of a shop that this instance does not know. They are left to instances that know it.',
    'Give another application a `schema` of its own; bring a removed shop back.',
  ),

  // Events
  'event-without-consumer': warn(
    'No consumer takes an event. It is stored and not delivered.',
    'Add a handler; `deliver` hands past events to it.',
  ),
  'delivery-failed': warn(
    'An attempt failed. The next one is in `againInMs`.',
    'Look at `error`, and mend the handler.',
  ),
  'delivery-dead': error('A delivery was given up: a dead letter.', 'Mend the handler, then `replay`.'),
  'delivery-not-begun': warn(
    'There was no connection, or the broker did not answer. It counts as no attempt.',
    'Many: look at the pool, or at the broker.',
  ),
  'delivery-taken-over': warn(
    'A failed attempt had been completed, or taken over, meanwhile.',
    'Many: handlers run longer than `deliveries.timeLimitMs`.',
  ),
  'deliveries-not-freed': warn('Deliveries that wait behind others go on within a minute.', NOTHING),
  'consumer-absent': warn(
    'No instance has hosted a consumer for an hour. Its events are kept.',
    'Was it renamed or dropped? Bring it back, or ignore it.',
  ),
  'consumer-omits-shops': warn('A consumer omits shops here that another release names.', 'Nothing during a rollout.'),
  'broker-connected': log('Events are sent to the broker.', NOTHING),
  'broker-lost': warn('The connection to the broker was lost. It is opened again; events wait.', 'Look at the broker.'),
  'broker-unreachable': error(
    'The broker cannot be connected; events wait. Said once until it is.',
    'Look at the broker, and its address.',
  ),

  // Workers and the database
  'poll-failed': error('A worker could not look for work. It tries again.', 'Look at the database.'),
  'work-failed': error('Work failed unexpectedly. It is done again when its lease expires.', 'Look at `error`.'),
  'removal-failed': error('Old records could not be removed. It is tried again.', 'Look at the database.'),
  'wake-ups-lost': warn('The connection that hears other instances is lost. Their work is found by polling.', NOTHING),
  'wake-ups-restored': log('Other instances are heard again.', NOTHING),
  'wake-ups-unheard': warn(
    'Signals of other instances do not arrive, as behind a PgBouncer in transaction mode.',
    'Set `wakeUps: "poll"`, or shorten the polls.',
  ),
  'statements-unprepared': warn(
    'A connection has lost a prepared statement, so none is prepared any more.',
    'Nothing, or let the pooler keep them.',
  ),

  // What the host adds
  'telemetry-failed': warn('The OpenTelemetry SDK threw. Payments are not affected. Logged once.', 'Mend its set-up.'),
} as const satisfies Readonly<Record<string, LogLine>>;

/** Stable name of a kind of log line. */
export type LogCode = keyof typeof LOG_LINES;
