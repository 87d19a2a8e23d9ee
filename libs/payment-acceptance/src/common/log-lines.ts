export type LogLevel = 'debug' | 'log' | 'warn' | 'error';

/**
 * The level of every line that the module logs, by its code. Alerts and searches are built on codes, so a released code
 * keeps its name and meaning; docs/operations.md lists them.
 */
export const LOG_LEVELS = {
  // Start and shutdown
  started: 'log',
  'configuration-warning': 'warn',
  'body-parser-off': 'error',
  'callback-misaddressed': 'error',
  'shop-moved': 'warn',
  'shutdown-incomplete': 'error',

  // Creating bills
  'bill-created': 'log',
  'bill-created-in-transaction': 'warn',
  'creation-refused': 'warn',
  'creation-contradicted': 'error',
  'creation-unknown': 'error',
  'outcome-not-stored': 'error',
  'outcome-stored': 'log',
  'outcome-abandoned': 'error',
  'commit-lost': 'warn',
  'callbacks-not-linked': 'warn',
  'checkout-failed': 'error',

  // Callbacks
  'callback-not-stored': 'error',
  'callback-refused': 'warn',
  'callbacks-bounded': 'warn',
  'result-failed': 'error',

  // Checking bills
  'check-failed': 'warn',
  'check-given-up': 'warn',
  'check-stale': 'debug',
  'checks-not-retried': 'warn',
  'claim-incomplete': 'error',
  'payments-unreadable': 'warn',
  'unknown-status': 'error',
  'settlement-timed-out': 'error',
  'inquiry-failed': 'warn',
  'lost-bill-found': 'error',

  // Shops
  'shop-refused': 'error',
  'shop-accepted': 'log',
  'shop-unusable': 'error',
  'shop-lookup-failed': 'error',
  'shops-not-listed': 'error',
  'shop-removed': 'error',
  'shop-foreign': 'error',

  // Events
  'event-without-consumer': 'warn',
  'delivery-failed': 'warn',
  'delivery-dead': 'error',
  'delivery-not-begun': 'warn',
  'delivery-taken-over': 'warn',
  'deliveries-not-freed': 'warn',
  'consumer-absent': 'warn',
  'consumer-omits-shops': 'warn',
  'broker-connected': 'log',
  'broker-lost': 'warn',
  'broker-unreachable': 'error',

  // Workers and the database
  'poll-failed': 'error',
  'work-failed': 'error',
  'removal-failed': 'error',
  'wake-ups-lost': 'warn',
  'wake-ups-restored': 'log',
  'wake-ups-unheard': 'warn',
  'statements-unprepared': 'warn',

  // What the host adds
  'telemetry-failed': 'warn',
} as const satisfies Readonly<Record<string, LogLevel>>;

export type LogCode = keyof typeof LOG_LEVELS;
