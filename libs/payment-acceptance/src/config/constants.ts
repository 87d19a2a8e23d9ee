const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

/** Values that no host needs to change, beside the options of the same groups. Times are in milliseconds. */
export const DEFAULT_CONSTANTS = {
  shopLookup: {
    /** How long a shop's settings are cached. */
    cacheMs: 30 * SECOND,
    /**
     * Minimum pause between look-ups of a shop, or of the list, after a refused token, wrong digest or unknown name.
     */
    refreshGapMs: 5 * SECOND,
    /** How long one call of the resolver may take. */
    timeoutMs: 5 * SECOND,
  },
  http: {
    /** Time limit for establishing a connection, TLS included. */
    connectTimeoutMs: 5 * SECOND,
    /** First pause between attempts; it doubles each time, with full jitter. */
    retryBaseMs: 200,
    /** Longest pause between attempts; a longer `Retry-After` ends them. */
    retryCapMs: 3 * SECOND,
  },
  schedule: {
    /** Pause between checks of an expired bill. */
    expiredEveryMs: 24 * HOUR,
    /** Maximum random extension of each pause, so that checks spread out. */
    jitterPercent: 10,
    /** Minimum pause between two checks of one bill, however many hints it gets. */
    minGapMs: 2 * SECOND,
    /** First pause after a failed check; doubles each time, with jitter, up to `retryCapMs`. */
    retryBaseMs: 5 * SECOND,
  },
  deliveries: {
    /** First pause between attempts; it doubles each time, and each is shortened at random by up to a half. */
    retryBaseMs: SECOND,
  },
  callbacks: {
    /**
     * Maximum postbacks of each shop that wait, for 30 days, for an unknown bill; further ones get a 503. While more
     * than half of the places are taken, they wait only until the service says that it does not know the bill.
     */
    maxUnmatched: 20_000,
    /**
     * Maximum callbacks kept for each bill, besides those that still wait for their check. Beyond that, a callback that
     * repeats another is answered 200 without a record, and any other replaces the latest one that has been answered.
     */
    maxPerBill: 100,
    /** How long storing a callback, or the host's result page, may take before the answer is 503. */
    storeTimeoutMs: 10 * SECOND,
    /** Maximum callbacks of this instance waiting to be stored, up to 20 kilobytes each; further ones get a 503. */
    maxQueued: 5_000,
    /** How many result pages of this instance wait at the same time at most; further ones are shown immediately. */
    maxWaitingResults: 200,
    /** How long the link to the result page is valid. */
    resultTicketMs: HOUR,
  },
  creation: {
    /** How long `createBill` waits for another call that creates the same bill. */
    waitMs: 5 * SECOND,
    /** How long `createBill` waits for the service's answer to be stored; storing then goes on in the background. */
    storeTimeoutMs: 4_500,
  },
  retention: {
    /** Maximum rows that one statement removes; a bill counts as ten. */
    batchSize: 500,
    /** Pause between two batches. */
    pauseMs: 200,
    /** Pause once nothing is left to remove. */
    everyMs: 600 * SECOND,
  },
};

export type Constants = { readonly [G in keyof typeof DEFAULT_CONSTANTS]: Readonly<(typeof DEFAULT_CONSTANTS)[G]> };

/** The key under which tests of this project give other constants, beside the options. */
export const CONSTANTS = Symbol.for('nestjs-payment-acceptance/constants');

export type ConstantOverrides = { readonly [G in keyof Constants]?: Partial<Constants[G]> };
