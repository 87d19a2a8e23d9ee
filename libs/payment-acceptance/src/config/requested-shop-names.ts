/** Maximum unknown names to remember; beyond that the oldest is dropped. */
const MAX_ABSENT_NAMES = 1_000;

/** Maximum look-ups per second and instance of names that turn out to be unknown. */
const MAX_FAILED_LOOKUPS = 20;

const SECOND = 1_000;

/**
 * Protects the host's database from made-up names in callback addresses: caches unknown names for a while, and rate-limits
 * look-ups of new ones.
 */
export class RequestedShopNames {
  private readonly absentUntil = new Map<string, number>();
  private since = -Infinity;
  private lookUpCount = 0;

  /** @param absentMs how long an unknown name is cached, in milliseconds */
  constructor(private readonly absentMs: number) {}

  isAbsent(name: string, now: number): boolean {
    const until = this.absentUntil.get(name);
    return until !== undefined && now < until;
  }

  /** Whether one more look-up is allowed in this second; counts it if so. */
  mayAsk(now: number): boolean {
    if (now - this.since >= SECOND) {
      this.since = now;
      this.lookUpCount = 0;
    }
    if (this.lookUpCount >= MAX_FAILED_LOOKUPS) return false;
    this.lookUpCount += 1;
    return true;
  }

  /** The shop exists, so its look-up does not count against the limit. */
  markFound(name: string): void {
    this.lookUpCount = Math.max(0, this.lookUpCount - 1);
    this.absentUntil.delete(name);
  }

  noteAbsent(name: string, now: number): void {
    this.absentUntil.delete(name);
    this.absentUntil.set(name, now + this.absentMs);
    const [earliest] = this.absentUntil.keys();
    if (this.absentUntil.size > MAX_ABSENT_NAMES && earliest !== undefined) this.absentUntil.delete(earliest);
  }
}
