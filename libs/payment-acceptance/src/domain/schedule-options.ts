/** When bills are checked without a hint (assumed). Times in milliseconds. */
export interface CheckScheduleOptions {
  /** Pauses between the checks of an open bill; the last one repeats. Default 1 m, 2 m, 5 m, 15 m, 1 h, 3 h, then every 6 h. */
  openMs?: number[];
  /** Age at which an unpaid bill without a running payment becomes `EXPIRED`. Default 3 days. */
  lifetimeMs?: number;
  /** Pause between checks of a paid bill (a second payment may come), and for how long. Default 6 h for 7 days. */
  paidEveryMs?: number;
  paidForMs?: number;
  /** Pause between checks of an expired bill, and for how long. Default 1 day for 30 days. */
  expiredEveryMs?: number;
  expiredForMs?: number;
  /** By how much, at random, a pause is longer than given, so that bills spread out. In percent, 0 to 100. Default 10. */
  jitterPercent?: number;
  /**
   * When the service is asked again, after each other, while its list does not show yet what a postback asserts; then the
   * assertion stays a note on the callback. Default 3 s, 10 s, 30 s.
   */
  lagMs?: number[];
  /** Least pause between two checks of one bill, however many hints it gets. Default 2 s. */
  minGapMs?: number;
  /** First and longest pause after a check that failed; doubles each time, with jitter. Default 5 s and 10 m. */
  retryBaseMs?: number;
  retryCapMs?: number;
}
