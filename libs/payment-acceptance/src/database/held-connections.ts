import type { Connection } from './connection-source.js';
import { PaymentPoolExhaustedError } from './database.errors.js';

/** Our statements take milliseconds. One that takes this long waits for a lock, or for a server that is gone. */
const OVERDUE_MS = 2_000;

/**
 * Tracks the connections of the host's pool that our statements hold. While the database answers, they may use the whole
 * pool. Once it does not, they give half of the pool back to the host within two seconds, and take no further connection.
 */
export class HeldConnections {
  /** In the order in which they were acquired. */
  private readonly held = new Map<Connection, { readonly since: number; limitMs: number }>();
  private readonly half: number;

  constructor(
    poolSize: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.half = Math.max(2, Math.floor(poolSize / 2));
  }

  /**
   * Verifies that another connection may be taken.
   * @throws PaymentPoolExhaustedError if overdue statements hold half of the pool
   */
  check(): void {
    if (this.held.size < this.half) return;
    const overdueSince = this.now() - OVERDUE_MS;
    let overdue = 0;
    for (const { since } of this.held.values()) {
      if (since > overdueSince) break;
      overdue += 1;
    }
    if (overdue >= this.half) throw PaymentPoolExhaustedError.byOverdueStatements(overdue);
  }

  /** @param limitMs timeout of statements on it; at most `OVERDUE_MS` for connections beyond half of the pool */
  take(connection: Connection, limitMs: number): void {
    const isBeyondHalf = this.held.size >= this.half;
    this.held.set(connection, { since: this.now(), limitMs: isBeyondHalf ? Math.min(limitMs, OVERDUE_MS) : limitMs });
  }

  /** Shortens the timeouts of all held connections. The returned function gives those that are still held when called. */
  hurry(limitMs: number): () => Connection[] {
    const before = [...this.held];
    for (const [, one] of before) one.limitMs = Math.min(one.limitMs, limitMs);
    return () =>
      before.filter(([connection, one]) => this.held.get(connection) === one).map(([connection]) => connection);
  }

  giveBack(connection: Connection): void {
    this.held.delete(connection);
  }

  limitOf(connection: Connection): number | undefined {
    return this.held.get(connection)?.limitMs;
  }
}
