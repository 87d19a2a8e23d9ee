/** Maximum names that are remembered as nobody's. Beyond it the earliest is forgotten. */
const MAX_ABSENT_NAMES = 1_000;

/** Maximum questions a second, of one instance, about names that turn out to be nobody's. */
const MAX_FAILED_LOOKUPS = 20;

const SECOND = 1_000;

/**
 * Keeps names that strangers make up from becoming questions to the host's database: the same one is not asked about
 * again at once, and different ones only so often.
 */
export class RequestedShopNames {
  private readonly absentUntil = new Map<string, number>();
  private since = -Infinity;
  private asked = 0;

  /** @param absentMs how long a name that is nobody's stays so, in milliseconds */
  constructor(private readonly absentMs: number) {}

  isAbsent(name: string, now: number): boolean {
    const until = this.absentUntil.get(name);
    // A clock that was set back must not make a name absent for longer.
    return until !== undefined && now < until && until - now <= this.absentMs;
  }

  /** Whether one more may be asked about in this second. */
  mayAsk(now: number): boolean {
    if (now < this.since || now - this.since >= SECOND) {
      this.since = now;
      this.asked = 0;
    }
    if (this.asked >= MAX_FAILED_LOOKUPS) return false;
    this.asked += 1;
    return true;
  }

  /** The one that was asked about is somebody's, and was no stranger's invention. */
  found(name: string): void {
    this.asked = Math.max(0, this.asked - 1);
    this.absentUntil.delete(name);
  }

  absent(name: string, now: number): void {
    this.absentUntil.delete(name);
    this.absentUntil.set(name, now + this.absentMs);
    const [earliest] = this.absentUntil.keys();
    if (this.absentUntil.size > MAX_ABSENT_NAMES && earliest !== undefined) this.absentUntil.delete(earliest);
  }
}
