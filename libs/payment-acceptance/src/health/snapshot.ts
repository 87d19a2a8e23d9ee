import { Injectable } from '@nestjs/common';
import { TimeoutError, withTimeout } from '../common/timeout.js';
import type { FailingConsumer, FailingShop, PaymentStats } from './statistics.js';
import { Database } from '../database/database.js';
import { StatisticsStore } from './storage/statistics.store.js';

export interface Snapshot extends PaymentStats {
  readonly refusedShops: readonly string[];
  readonly failingConsumers: readonly FailingConsumer[];
  readonly failingShops: readonly FailingShop[];
}

const MAX_SHOPS = 100;
const MAX_CONSUMERS = 100;

/** How long callers share a reading after it has ended. */
const TTL_MS = 1_000;

/** Timeout of a reading. Its connection may be dead, so the next caller starts a new reading. */
const READ_TIMEOUT_MS = 10_000;

/** Readings that timed out may still hold their connections; while there are this many, no new reading starts. */
const MAX_UNFINISHED = 3;

/** Lets callers share a reading: probes and scrapes come in bursts. */
class SharedReading<T> {
  private latest: { readonly result: Promise<T>; endedAt?: number } | undefined;
  private unfinished = 0;

  constructor(private readonly load: () => Promise<T>) {}

  read(): Promise<T> {
    const { latest } = this;
    const isFresh = latest && (latest.endedAt === undefined || performance.now() - latest.endedAt < TTL_MS);
    if (isFresh) return latest.result;
    const reading: NonNullable<typeof this.latest> = { result: withTimeout(READ_TIMEOUT_MS, this.startLoad()) };
    const end = (): void => {
      reading.endedAt = performance.now();
    };
    reading.result.then(end, end);
    this.latest = reading;
    return reading.result;
  }

  private async startLoad(): Promise<T> {
    if (this.unfinished >= MAX_UNFINISHED) throw new TimeoutError('The database has not answered earlier queries yet.');
    this.unfinished += 1;
    try {
      return await this.load();
    } finally {
      this.unfinished -= 1;
    }
  }
}

@Injectable()
export class Snapshots {
  private readonly snapshot = new SharedReading(() => this.load());
  private readonly writable = new SharedReading(() => this.database.verifyWritable());

  constructor(
    private readonly statistics: StatisticsStore,
    private readonly database: Database,
  ) {}

  /**
   * Sends one small statement, since the amount of waiting work says nothing about the database.
   * @throws TimeoutError if it takes too long, PaymentReadOnlyDatabaseError if the server takes no writes
   */
  verifyWritable(): Promise<void> {
    return this.writable.read();
  }

  /** @throws TimeoutError if it takes too long */
  read(): Promise<Snapshot> {
    return this.snapshot.read();
  }

  /** Runs its statements one after the other, so that it holds only one connection. */
  private async load(): Promise<Snapshot> {
    const stats = await this.statistics.stats(null);
    const refusedShops = await this.statistics.refusedShops(MAX_SHOPS);
    const failingConsumers = await this.statistics.failingConsumers(MAX_CONSUMERS);
    return { ...stats, refusedShops, failingConsumers, failingShops: await this.statistics.failingShops(MAX_SHOPS) };
  }
}
