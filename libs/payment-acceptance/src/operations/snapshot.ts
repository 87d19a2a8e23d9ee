import { Injectable } from '@nestjs/common';
import { TimeoutError, withTimeout } from '../common/timeout.js';
import type { FailingConsumer, FailingShop, PaymentStats } from '../domain/records/statistics.js';
import { Database } from '../storage/database.js';
import { StatisticsStore } from '../storage/records/statistics.store.js';
import { RefusalStore } from '../storage/refusal.store.js';

/** What the tables say about how things stand. */
export interface Snapshot extends PaymentStats {
  /** Names of the shops that the service refuses, at most {@link MAX_SHOPS}. */
  readonly refusedShops: readonly string[];
  /** Consumers whose deliveries fail and are tried again, at most {@link MAX_CONSUMERS}. */
  readonly failingConsumers: readonly FailingConsumer[];
  /** Shops with bills whose checks fail again and again, at most {@link MAX_SHOPS}. */
  readonly failingShops: readonly FailingShop[];
}

const MAX_SHOPS = 100;
const MAX_CONSUMERS = 100;

/** How long one reading serves everybody who asks. */
const KEPT_MS = 1_000;

/** After that a reading is given up, and the next caller makes a new one: its connection may be dead, and others not. */
const LIMIT_MS = 10_000;

/** Readings that were given up may still hold their connections; beyond so many no further one takes another. */
const MAX_UNFINISHED = 3;

interface Reading {
  readonly result: Promise<Snapshot>;
  /** While it is going on there is none. */
  endedAt?: number;
}

/** Reads how things stand, once for all who ask at the same time or within a second: probes and scrapes come in numbers. */
@Injectable()
export class Snapshots {
  private latest: Reading | undefined;
  private unfinished = 0;

  constructor(
    private readonly statistics: StatisticsStore,
    private readonly refusals: RefusalStore,
    private readonly database: Database,
  ) {}

  /**
   * A reading that is still going on is joined.
   * @throws TimeoutError where it takes too long, ReadOnlyDatabaseError where the server takes no writes
   */
  read(): Promise<Snapshot> {
    const { latest } = this;
    const isFresh = latest && (latest.endedAt === undefined || performance.now() - latest.endedAt < KEPT_MS);
    if (isFresh) return latest.result;
    const reading: Reading = { result: withTimeout(LIMIT_MS, this.load()) };
    const end = (): void => {
      reading.endedAt = performance.now();
    };
    reading.result.then(end, end);
    this.latest = reading;
    return reading.result;
  }

  /** One statement after the other, so that it holds one connection. */
  private async load(): Promise<Snapshot> {
    if (this.unfinished >= MAX_UNFINISHED) throw new TimeoutError('The database still owes earlier answers.');
    this.unfinished += 1;
    try {
      const stats = await this.statistics.stats(null);
      // A read-only server answers all the rest as if it were well.
      await this.database.verifyWritable();
      const refusedShops = await this.refusals.refused(MAX_SHOPS);
      const failingConsumers = await this.statistics.failingConsumers(MAX_CONSUMERS);
      return { ...stats, refusedShops, failingConsumers, failingShops: await this.statistics.failingShops(MAX_SHOPS) };
    } finally {
      this.unfinished -= 1;
    }
  }
}
