import type { ResolvedOptions } from './resolved-options.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Defaults of every group of options; their meaning stands beside the option. */
/** See `PaymentAcceptanceOptions.statementTimeoutMs`. */
export const STATEMENT_TIMEOUT_MS = 10 * SECOND;

export const DEFAULTS: Pick<
  ResolvedOptions,
  'shopLookup' | 'http' | 'schedule' | 'confirmer' | 'deliveries' | 'callbacks' | 'creation'
> & { readonly retention: Exclude<ResolvedOptions['retention'], false> } = {
  shopLookup: { cacheMs: 30 * SECOND, refreshGapMs: 5 * SECOND, absentMs: 5 * SECOND, timeoutMs: 5 * SECOND },
  http: {
    connectTimeoutMs: 5 * SECOND,
    totalTimeoutMs: 15 * SECOND,
    maxAnswerBytes: 2 * 1024 * 1024,
    openAheadMs: 2 * SECOND,
    attempts: 3,
    retryBaseMs: 200,
    retryCapMs: 3 * SECOND,
    hooks: {},
  },
  schedule: {
    openMs: [MINUTE, 2 * MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR],
    jitterPercent: 10,
    lagMs: [3 * SECOND, 10 * SECOND, 30 * SECOND],
    lifetimeMs: 3 * DAY,
    paidEveryMs: 6 * HOUR,
    paidForMs: 7 * DAY,
    expiredEveryMs: DAY,
    expiredForMs: 30 * DAY,
    minGapMs: 2 * SECOND,
    retryBaseMs: 5 * SECOND,
    retryCapMs: 10 * MINUTE,
  },
  confirmer: { concurrency: 128, pollMs: 5 * SECOND, leaseMs: 30 * SECOND },
  deliveries: {
    concurrency: 32,
    pollMs: 5 * SECOND,
    timeLimitMs: 30 * SECOND,
    shutdownMs: 10 * SECOND,
    // Together a day at least: the pauses are 48 hours, of which a random half may be left out.
    maxAttempts: 60,
    retryBaseMs: SECOND,
    retryCapMs: HOUR,
  },
  callbacks: {
    replyBody: 'OK',
    replyContentType: 'text/plain; charset=utf-8',
    maxUnmatched: 10_000,
    inquiriesPerHour: 240,
    maxPerBill: 100,
    requirePostbackDigest: false,
    resultWaitMs: 3 * SECOND,
    maxWaitingResults: 200,
    forwardUnknown: undefined,
    forwardTimeoutMs: 10 * SECOND,
    maxForwards: 20,
    storeTimeoutMs: 10 * SECOND,
    maxQueued: 5_000,
    resultTicketMs: HOUR,
  },
  creation: { waitMs: 5 * SECOND, leaseMs: 2 * MINUTE, storeTimeoutMs: 4_500 },
  retention: {
    redactCallbacksAfterMs: 30 * DAY,
    deleteCallbacksAfterMs: 90 * DAY,
    deleteDeliveriesAfterMs: null,
    batchSize: 500,
    pauseMs: 200,
    everyMs: 10 * MINUTE,
  },
};
