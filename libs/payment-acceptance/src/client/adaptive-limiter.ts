/** How a request ended, as far as it says something about the service's capacity. */
export type RequestEnd =
  /** With an answer, whatever it says. */
  | 'answered'
  /** With a server error, or without an answer. May concern one bill only, or the whole service. */
  | 'failed'
  /** With 429: the service's rate limit was exceeded. */
  | 'too-many';

/** Concurrency limit while nothing is known about the service, and after a minute without requests. */
const INITIAL_LIMIT = 8;
const IDLE_MS = 60_000;

/** Below this share of recent requests, failures are taken to concern single bills and do not reduce the limits. */
const FAILURE_THRESHOLD = 0.2;
/** Weight of one request in that share, a moving average. */
const SMOOTHING_FACTOR = 0.1;

/** Samples per mean latency, or half the concurrency limit if that is more. Each mean is compared with the best one. */
const MIN_SAMPLES = 20;
/** A mean latency of more than twice the best one plus this tolerance shows that requests queue at the service. */
const LATENCY_TOLERANCE_MS = 100;
/** If a lower limit does not bring latency below this share of what it was, concurrency is not the cause. */
const IMPROVEMENT_RATIO = 0.9;

const MIN_PER_SECOND = 1;

/**
 * Adapts one instance's concurrency and request rate to how one shop's service answers. Both follow AIMD, as TCP does:
 * at first, the concurrency doubles with each round trip, and the rate each second; after the first congestion, both
 * rise slowly. Both are cut by a factor when the service fails or refuses, and the concurrency also when it is too
 * slow. Instances thus converge to equal shares of the service's capacity without knowing of each other. Times are in
 * milliseconds.
 */
export class AdaptiveLimiter {
  private places = 0;
  /** Highest concurrency since latencies were last compared, and in the period before that. */
  private peak = 0;
  private previousPeak = 0;
  private limit: number;
  /** The limit doubles up to this value (slow start). */
  private threshold = Infinity;
  private rate: number;
  /** The rate doubles each second up to this value. */
  private rateThreshold = Infinity;
  private rateRaisedAt: number;
  /** When the limits were last cut. Failures of requests that began earlier cut nothing again. */
  private cutAt = -Infinity;
  /** Whether a request begun after the cut was answered. Cuts without such an answer belong to one outage. */
  private answeredSinceCut = true;
  private down = false;
  private pausedUntil = -Infinity;
  private endedAt: number;
  private failureRate = 0;
  private bestLatencyMs: number | undefined;
  /** The mean latency that caused the last cut, until it is known whether the cut has helped. */
  private slowLatencyMs: number | undefined;
  private frozen = false;
  /** Requests that began before this say nothing about the current limit. */
  private measuredFrom = -Infinity;
  private samples = 0;
  private latencySumMs = 0;
  /** Requests that began in this second, and in the one before. */
  private requestCounts = { second: 0, now: 0, before: 0 };

  /**
   * @param concurrency maximum requests at once
   * @param ceiling maximum requests a second
   */
  constructor(
    private readonly concurrency: number,
    private ceiling: number,
    private readonly now: () => number,
  ) {
    this.limit = Math.min(INITIAL_LIMIT, concurrency);
    this.rate = ceiling;
    this.endedAt = this.rateRaisedAt = this.now();
  }

  get free(): number {
    if (this.isPaused) return 0;
    if (this.isIdle) this.restart();
    return Math.max(0, Math.floor(this.limit) - this.places);
  }

  /** Maximum requests a second at present, as a whole number. */
  get requestsPerSecond(): number {
    return Math.max(MIN_PER_SECOND, Math.floor(this.rate));
  }

  set maxPerSecond(ceiling: number) {
    if (this.rate === this.ceiling) this.rate = ceiling;
    this.rate = Math.min(this.rate, ceiling);
    this.ceiling = ceiling;
  }

  get isPaused(): boolean {
    return this.now() < this.pausedUntil;
  }

  /** What is left of the pause that the service has asked for; 0 without one. */
  get pauseLeftMs(): number {
    return Math.max(0, this.pausedUntil - this.now());
  }

  get running(): number {
    return this.places;
  }

  get maxConcurrency(): number {
    return Math.floor(this.limit);
  }

  /** Whether the service is down: failures went on after a cut, without an answer. */
  get isDown(): boolean {
    return this.down;
  }

  get isIdle(): boolean {
    return this.places === 0 && this.now() - this.endedAt > IDLE_MS;
  }

  acquire(): void {
    this.places += 1;
    this.peak = Math.max(this.peak, this.places);
  }

  release(): void {
    this.places -= 1;
  }

  /** Call it when a request starts, and the returned function when it ends. */
  begin(): (end: RequestEnd, retryAfterMs?: number) => void {
    const since = this.now();
    this.count(since);
    return (end, retryAfterMs = 0) => {
      const now = this.now();
      this.endedAt = now;
      this.failureRate += SMOOTHING_FACTOR * ((end === 'answered' ? 0 : 1) - this.failureRate);
      if (end === 'answered') this.raise(now, since);
      else {
        this.pausedUntil = Math.max(this.pausedUntil, now + Math.min(retryAfterMs, IDLE_MS));
        if (since >= this.cutAt && (end === 'too-many' || this.failureRate >= FAILURE_THRESHOLD)) this.cut(now, end);
      }
    };
  }

  private raise(now: number, since: number): void {
    if (since >= this.cutAt) {
      this.answeredSinceCut = true;
      this.down = false;
    }
    const seconds = Math.max(0, now - this.rateRaisedAt) / 1_000;
    this.rateRaisedAt = now;
    const step = Math.max(1, this.rate / 20);
    const raised = this.rate < this.rateThreshold ? this.rate * 2 ** seconds : this.rate + seconds * step;
    this.rate = Math.min(this.ceiling, raised);
    // A limit that is not reached must not grow.
    const isUsed = 2 * Math.max(this.peak, this.previousPeak) >= this.limit;
    if (isUsed && !this.frozen) this.limit += this.limit < this.threshold ? 1 : 1 / this.limit;
    this.limit = Math.min(this.limit, this.concurrency);
    if (since >= this.measuredFrom) this.recordLatency(now, now - since);
  }

  private recordLatency(now: number, latencyMs: number): void {
    this.samples += 1;
    this.latencySumMs += latencyMs;
    if (this.samples < Math.max(MIN_SAMPLES, this.limit / 2)) return;
    const mean = this.latencySumMs / this.samples;
    this.samples = this.latencySumMs = 0;
    this.previousPeak = this.peak;
    this.peak = this.places;
    this.bestLatencyMs = Math.min(mean, this.bestLatencyMs ?? mean);
    this.adjustToLatency(now, mean, this.bestLatencyMs);
  }

  /** Finds out whether requests queue at the service: freezes the limit, cuts it, and sees whether that helped. */
  private adjustToLatency(now: number, mean: number, best: number): void {
    const isSlow = mean > 2 * best + LATENCY_TOLERANCE_MS && this.limit > INITIAL_LIMIT;
    const { frozen: wasFrozen, slowLatencyMs: previousMs } = this;
    this.slowLatencyMs = undefined;
    this.frozen = isSlow;
    if (!isSlow) return;
    this.measuredFrom = now;
    if (!wasFrozen) return;
    if (previousMs !== undefined && mean > IMPROVEMENT_RATIO * previousMs) {
      this.bestLatencyMs = mean;
      this.frozen = false;
      return;
    }
    this.slowLatencyMs = mean;
    this.limit = this.threshold = Math.max(INITIAL_LIMIT, 0.8 * this.limit);
  }

  private cut(now: number, end: RequestEnd): void {
    this.cutAt = this.rateRaisedAt = now;
    const used = Math.min(this.rate, this.usedPerSecond(now));
    if (this.answeredSinceCut) {
      this.threshold = this.limit / 2;
      this.rateThreshold = used / 2;
    } else if (end === 'failed') {
      // The cut has not helped, so the service is down. Its capacity is learned anew when it is back.
      this.threshold = this.rateThreshold = Infinity;
      this.down = true;
    }
    this.answeredSinceCut = false;
    this.limit = Math.max(1, this.limit / 2);
    this.rate = Math.max(MIN_PER_SECOND, 0.7 * used);
  }

  private restart(): void {
    this.threshold = Math.max(this.limit, INITIAL_LIMIT);
    this.bestLatencyMs = this.slowLatencyMs = undefined;
    this.frozen = false;
    this.limit = Math.min(INITIAL_LIMIT, this.limit);
  }

  private count(now: number): void {
    const second = Math.floor(now / 1_000);
    const { requestCounts: counts } = this;
    if (second !== counts.second) {
      counts.before = second === counts.second + 1 ? counts.now : 0;
      counts.now = 0;
      counts.second = second;
    }
    counts.now += 1;
  }

  private usedPerSecond(now: number): number {
    const part = now / 1_000 - this.requestCounts.second;
    if (part >= 2) return 0;
    return part >= 1
      ? this.requestCounts.now * (2 - part)
      : this.requestCounts.now + this.requestCounts.before * (1 - part);
  }
}
