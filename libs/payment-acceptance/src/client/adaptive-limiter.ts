/** How a request ended, as far as it says something about the service's capacity. */
export type RequestEnd =
  /** With an answer, whatever it says. */
  | 'answered'
  /** With a server error, or without an answer. May concern one bill only, or the whole service. */
  | 'failed'
  /** With 429: the service's rate limit was exceeded. */
  | 'too-many';

/** Concurrency limit while nothing is known about the service, and after a minute without requests. */
const FIRST_LIMIT = 8;
const IDLE_MS = 60_000;

/** Failures count from this share of recent requests on; below it they concern single bills. */
const FAILING_SHARE = 0.2;
/** Weight of one request in that share, a moving average. */
const WEIGHT = 0.1;

/** Samples per mean latency: this many, and at least half the concurrency limit. Each mean is compared with the best one. */
const LEAST_SAMPLES = 20;
/** A mean latency above twice the best one plus this means that requests queue at the service. */
const TOLERATED_MS = 100;
/** If a lower limit does not bring latency below this share of what it was, concurrency is not the cause. */
const IMPROVED = 0.9;

const LEAST_PER_SECOND = 1;

/**
 * Adapts one instance's concurrency and request rate for one shop's service to how it answers. Both follow AIMD, as TCP
 * does: they double with each round trip at first, rise slowly after the first congestion, and are cut by a factor when the
 * service is too slow, fails, or refuses. Instances thus converge to equal shares of the service's capacity without knowing
 * of each other. Times are in milliseconds.
 */
export class AdaptiveLimiter {
  private places = 0;
  /** Highest concurrency since latencies were last compared, and in the period before that. */
  private peak = 0;
  private peakBefore = 0;
  private limit: number;
  /** The limit doubles up to this value (slow start). */
  private threshold = Infinity;
  private rate: number;
  /** The rate doubles each second up to this value. */
  private rateThreshold = Infinity;
  private rateRaisedAt: number;
  /** When the limits were last cut. Failures of requests that began before it cut nothing again. */
  private cutAt = -Infinity;
  /** Whether a request that began after the cut was answered. Cuts without one between them belong to one outage. */
  private answered = true;
  private away = false;
  private pauseEnds = -Infinity;
  private endedAt: number;
  private failing = 0;
  private best: number | undefined;
  /** The mean latency that caused the last cut, until it is known whether the cut has helped. */
  private slow: number | undefined;
  /** Whether the limit is frozen while latencies are measured. */
  private stands = false;
  /** Requests that began before this say nothing about the current limit. */
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

  /** How many more requests may start now. */
  get free(): number {
    if (this.isPaused) return 0;
    if (this.isIdle) this.restart();
    return Math.max(0, Math.floor(this.limit) - this.places);
  }

  /** Maximum requests a second at present, as a whole number. */
  get perSecond(): number {
    return Math.max(LEAST_PER_SECOND, Math.floor(this.rate));
  }

  /** Changes the ceiling of requests a second. */
  set mostPerSecond(ceiling: number) {
    if (this.rate === this.ceiling) this.rate = ceiling;
    this.rate = Math.min(this.rate, ceiling);
    this.ceiling = ceiling;
  }

  /** Whether the service has asked for a pause. */
  get isPaused(): boolean {
    return this.now() < this.pauseEnds;
  }

  /** What is left of the pause that the service has asked for, in milliseconds. */
  get pauseLeftMs(): number {
    return Math.max(0, this.pauseEnds - this.now());
  }

  /** How many requests are in flight. */
  get running(): number {
    return this.places;
  }

  /** The concurrency limit, a whole number. */
  get most(): number {
    return Math.floor(this.limit);
  }

  /** Whether the service is down: failures went on after a cut, without an answer. */
  get isAway(): boolean {
    return this.away;
  }

  /** Whether there was no request for a minute. */
  get isIdle(): boolean {
    return this.places === 0 && this.now() - this.endedAt > IDLE_MS;
  }

  /** Takes a free slot. */
  take(): void {
    this.places += 1;
    this.peak = Math.max(this.peak, this.places);
  }

  leave(): void {
    this.places -= 1;
  }

  /** Call it when a request starts, and the returned function when it ends. */
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
    // A limit that is not reached must not grow.
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

  /** Finds out in steps whether requests queue at the service: freeze the limit, then cut it, then see whether that helped. */
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
      // The cut has not helped, so the service is down. Its capacity is learned anew when it is back.
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
