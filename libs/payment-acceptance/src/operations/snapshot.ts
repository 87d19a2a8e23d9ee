import { Injectable } from '@nestjs/common';
import { OperatorStore, type PaymentStats } from '../storage/operator.store.js';
import { RefusalStore } from '../storage/refusal.store.js';

/** What the tables say about how things stand. */
export interface Snapshot extends PaymentStats {
  /** Names of the shops that the service refuses, at most {@link MOST_SHOPS}. */
  readonly refusedShops: readonly string[];
}

const MOST_SHOPS = 100;

/** How long one reading serves everybody who asks. */
const KEPT_MS = 1_000;

/** Reads how things stand, once for all who ask at the same time or within a second: probes and scrapes come in numbers. */
@Injectable()
export class Snapshots {
  private current: Promise<Snapshot> | undefined;
  private readAt = 0;

  constructor(
    private readonly operator: OperatorStore,
    private readonly refusals: RefusalStore,
  ) {}

  /** A reading that is still going on is joined, however long it takes: whoever waits limits that. */
  read(): Promise<Snapshot> {
    if (!this.current || (this.readAt > 0 && performance.now() - this.readAt >= KEPT_MS)) {
      this.readAt = 0;
      this.current = this.load().finally(() => {
        this.readAt = performance.now();
      });
    }
    return this.current;
  }

  private async load(): Promise<Snapshot> {
    const [stats, refusedShops] = await Promise.all([this.operator.stats(null), this.refusals.refused(MOST_SHOPS)]);
    return { ...stats, refusedShops };
  }
}
