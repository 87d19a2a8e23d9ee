/** How a request ended, as far as it tells of the service's strength. */
export type RequestEnd =
  /** With an answer, whatever it says. */
  | 'answered'
  /** With a server error, or with none at all: one bill's trouble, or everybody's. */
  | 'failed'
  /** With 429: the service counts requests, and these were too many. */
  | 'too-many';

/** Requests at once to a service of which nothing is known, or nothing for a minute. */
const FIRST_LIMIT = 8;
const IDLE_MS = 60_000;

/** Failures count from this share of the latest requests on: below it they are single bills' trouble. */
const FAILING_SHARE = 0.2;
/** Weight of one request in that share. */
const WEIGHT = 0.1;

/** The mean latency of so many requests, and of half as many as may run at once, is compared with the best one. */
const LEAST_SAMPLES = 20;
/** Beyond twice the best mean and this, requests wait for each other at the service. */
const TOLERATED_MS = 100;
/** What fewer requests at once have not brought below this part of what it was is not their doing. */
const IMPROVED = 0.9;

const LEAST_PER_SECOND = 1;

/**
 * How much one shop's service is asked of one instance, from how it answers. Requests at once and requests a second each
 * follow AIMD, as TCP does: doubled with each round trip at first, after the first trouble raised by a little, and cut by
 * a factor where the service is too slow, fails, or refuses. Instances that do so come to equal shares of what the service
 * takes without knowing of each other. Times are in milliseconds.
 */
export class AdaptiveLimiter {
  private places = 0;
  /** Most that ran at once since latencies were compared last, and before that. */
  private peak = 0;
  private peakBefore = 0;
  private limit: number;
  /** Up to here the limit doubles. */
  private threshold = Infinity;
  private rate: number;
  /** Up to here the rate doubles each second. */
  private rateThreshold = Infinity;
  private rateRaisedAt: number;
  /** Requests that began before have told of the strength that was; their failures change nothing more. */
  private cutAt = -Infinity;
  /** Whether a request that began later was answered: failures without one between them are one trouble, however long. */
  private answered = true;
  private away = false;
  private pauseEnds = -Infinity;
  private endedAt: number;
  private failing = 0;
  private best: number | undefined;
  /** The mean for which less was asked for at once, until it is known whether that has helped. */
  private slow: number | undefined;
  /** Whether the limit is left as it is while latencies are measured. */
  private stands = false;
  /** Requests that began before tell nothing of the limit that is. */
  private measuredFrom = -Infinity;
  private samples = 0;
  private sum = 0;
  /** Requests that began in this second, and in the one before. */
  private begun = { second: 0, now: 0, before: 0 };

  /**
   * @param concurrency most requests at once
   * @param ceiling most requests a second
   */
  constructor(
    private readonly concurrency: number,
    private ceiling: number,
    private readonly now: () => number,
  ) {
    this.limit = Math.min(FIRST_LIMIT, concurrency);
    this.rate = ceiling;
    this.endedAt = this.rateRaisedAt = this.now();
  }

  /** How many more may run at once. */
  get free(): number {
    if (this.isPaused) return 0;
    if (this.isIdle) this.restart();
    return Math.max(0, Math.floor(this.limit) - this.places);
  }

  /** Requests a second, a whole number. */
  get perSecond(): number {
    return Math.max(LEAST_PER_SECOND, Math.floor(this.rate));
  }

  /** Changes the most requests a second. */
  set mostPerSecond(ceiling: number) {
    if (this.rate === this.ceiling) this.rate = ceiling;
    this.rate = Math.min(this.rate, ceiling);
    this.ceiling = ceiling;
  }

  /** Whether the service has asked for a pause. */
  get isPaused(): boolean {
    return this.now() < this.pauseEnds;
  }

  /** When the pause ends that the service has asked for, in milliseconds; `undefined` where there is none. */
  get pausedUntil(): number | undefined {
    return this.isPaused ? this.pauseEnds : undefined;
  }

  /** How many run. */
  get running(): number {
    return this.places;
  }

  /** How many may run at once, a whole number. */
  get most(): number {
    return Math.floor(this.limit);
  }

  /** Whether less and less was asked, and nothing answered. */
  get isAway(): boolean {
    return this.away;
  }

  /** Whether nothing was asked for a minute. */
  get isIdle(): boolean {
    return this.places === 0 && this.now() - this.endedAt > IDLE_MS;
  }

  /** Takes one of the free places. */
  take(): void {
    this.places += 1;
    this.peak = Math.max(this.peak, this.places);
  }

  leave(): void {
    this.places -= 1;
  }

  /** Called when a request goes out; what it gives is called when that has ended. */
  begin(): (end: RequestEnd, retryAfterMs?: number) => void {
    const since = this.now();
    this.count(since);
    return (end, retryAfterMs = 0) => {
      const now = this.now();
      this.endedAt = now;
      this.failing += WEIGHT * ((end === 'answered' ? 0 : 1) - this.failing);
      if (end === 'answered') this.raise(now, since);
      else {
        this.pauseEnds = Math.max(this.pauseEnds, now + Math.min(retryAfterMs, IDLE_MS));
        if (since >= this.cutAt && (end === 'too-many' || this.failing >= FAILING_SHARE)) this.cut(now, end);
      }
    };
  }

  private raise(now: number, since: number): void {
    if (since >= this.cutAt) {
      this.answered = true;
      this.away = false;
    }
    const seconds = Math.max(0, now - this.rateRaisedAt) / 1_000;
    this.rateRaisedAt = now;
    const raised = this.rate < this.rateThreshold ? this.rate * 2 ** seconds : this.rate + seconds * this.step();
    this.rate = Math.min(this.ceiling, raised);
    // What is not used says nothing.
    const isUsed = 2 * Math.max(this.peak, this.peakBefore) >= this.limit;
    if (isUsed && !this.stands) this.limit += this.limit < this.threshold ? 1 : 1 / this.limit;
    this.limit = Math.min(this.limit, this.concurrency);
    if (since >= this.measuredFrom) this.compare(now, now - since);
  }

  private step(): number {
    return Math.max(1, this.rate / 20);
  }

  private compare(now: number, latencyMs: number): void {
    this.samples += 1;
    this.sum += latencyMs;
    if (this.samples < Math.max(LEAST_SAMPLES, this.limit / 2)) return;
    const mean = this.sum / this.samples;
    this.samples = this.sum = 0;
    this.peakBefore = this.peak;
    this.peak = this.places;
    this.best = Math.min(mean, this.best ?? mean);
    this.judge(now, mean, this.best);
  }

  /** Whether requests wait for each other is found out step by step: the limit stands, then it is less, and did that help? */
  private judge(now: number, mean: number, best: number): void {
    const isSlow = mean > 2 * best + TOLERATED_MS && this.limit > FIRST_LIMIT;
    const { stands, slow } = this;
    this.slow = undefined;
    this.stands = isSlow;
    if (!isSlow) return;
    this.measuredFrom = now;
    if (!stands) return;
    if (slow !== undefined && mean > IMPROVED * slow) {
      this.best = mean;
      this.stands = false;
      return;
    }
    this.slow = mean;
    this.limit = this.threshold = Math.max(FIRST_LIMIT, 0.8 * this.limit);
  }

  private cut(now: number, end: RequestEnd): void {
    this.cutAt = this.rateRaisedAt = now;
    const used = Math.min(this.rate, this.usedPerSecond(now));
    if (this.answered) {
      this.threshold = this.limit / 2;
      this.rateThreshold = used / 2;
    } else if (end === 'failed') {
      // Less has not helped, so it is away. What it takes is found out anew when it is back.
      this.threshold = this.rateThreshold = Infinity;
      this.away = true;
    }
    this.answered = false;
    this.limit = Math.max(1, this.limit / 2);
    this.rate = Math.max(LEAST_PER_SECOND, 0.7 * used);
  }

  private restart(): void {
    this.threshold = Math.max(this.limit, FIRST_LIMIT);
    this.best = this.slow = undefined;
    this.stands = false;
    this.limit = Math.min(FIRST_LIMIT, this.limit);
  }

  private count(now: number): void {
    const second = Math.floor(now / 1_000);
    const { begun } = this;
    if (second !== begun.second) {
      begun.before = second === begun.second + 1 ? begun.now : 0;
      begun.now = 0;
      begun.second = second;
    }
    begun.now += 1;
  }

  private usedPerSecond(now: number): number {
    const part = now / 1_000 - this.begun.second;
    if (part >= 2) return 0;
    return part >= 1 ? this.begun.now * (2 - part) : this.begun.now + this.begun.before * (1 - part);
  }
}
