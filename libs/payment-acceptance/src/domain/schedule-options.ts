/** When bills are checked without a hint (assumed), with up to 10 percent more at random. */
export interface CheckScheduleOptions {
  /**
   * Pauses between the checks of an open bill; the last one repeats. Default 1 minute, 2 minutes, 5 minutes, 15
   * minutes, 1 hour, 3 hours, 6 hours.
   */
  openMs?: number[];
  /**
   * Age at which an unpaid bill becomes `EXPIRED`; with a payment in progress or under an open review later, two days
   * before `expiredForMs` have passed since. Default 3 days.
   */
  lifetimeMs?: number;
  /** Pause between checks of a paid bill: a second payment may come. Default 6 hours. */
  paidEveryMs?: number;
  /** For how long a paid bill is checked. Default 7 days. */
  paidForMs?: number;
  /** For how long an expired bill is checked, once a day. Default 30 days. */
  expiredForMs?: number;
  /**
   * Pauses between further checks while the service's list lacks what a postback asserts, or the success that a payer
   * is redirected for. After the last, the assertion stays a note on the callback. Default 3000, 10000, 30000.
   */
  lagMs?: number[];
  /** Longest pause after a failed check; the first is five seconds, each twice the one before. Default 10 minutes. */
  retryCapMs?: number;
}
