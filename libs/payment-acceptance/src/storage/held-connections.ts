import type { QueryRunner } from 'typeorm';
import { PoolExhaustedError } from './storage.errors.js';

/** Statements of ours take milliseconds. One that has taken so long waits for a lock, or for a server that is gone. */
const OVERDUE_MS = 2_000;

/**
 * The connections of the host's pool that our statements hold: as many as there are while the database answers. Once it
 * does not, half of them are the host's again within two seconds, and nothing further of ours takes one.
 */
export class HeldConnections {
  /** In the order in which they were taken. */
  private readonly held = new Map<QueryRunner, { readonly since: number; limitMs: number }>();
  private readonly half: number;

  constructor(
    poolSize: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.half = Math.max(2, Math.floor(poolSize / 2));
  }

  /**
   * Whether one more may be taken.
   * @throws PoolExhaustedError where half of the pool is held by statements that are overdue
   */
  check(): void {
    if (this.held.size < this.half) return;
    const overdueSince = this.now() - OVERDUE_MS;
    let overdue = 0;
    for (const { since } of this.held.values()) {
      if (since > overdueSince) break;
      overdue += 1;
    }
    if (overdue >= this.half) throw PoolExhaustedError.byOverdueStatements(overdue);
  }

  /** @param limitMs how long a statement may take on it; one beyond half of the pool not longer than until it is overdue */
  take(runner: QueryRunner, limitMs: number): void {
    const isBeyondHalf = this.held.size >= this.half;
    this.held.set(runner, { since: this.now(), limitMs: isBeyondHalf ? Math.min(limitMs, OVERDUE_MS) : limitMs });
  }

  /** Shortens the limits of those that are held; gives which of them are held still when it is called. */
  hurry(limitMs: number): () => QueryRunner[] {
    const before = [...this.held];
    for (const [, one] of before) one.limitMs = Math.min(one.limitMs, limitMs);
    return () => before.filter(([runner, one]) => this.held.get(runner) === one).map(([runner]) => runner);
  }

  giveBack(runner: QueryRunner): void {
    this.held.delete(runner);
  }

  limitOf(runner: QueryRunner): number | undefined {
    return this.held.get(runner)?.limitMs;
  }
}
