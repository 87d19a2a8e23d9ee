import { Injectable } from '@nestjs/common';
import { TimeoutError, withTimeout } from '../common/timeout.js';
import type { FailingConsumer, FailingShop, PaymentStats } from './statistics.js';
import { Database } from '../database/database.js';
import { StatisticsStore } from './storage/statistics.store.js';

/** The state of the module as read from its tables. */
export interface Snapshot extends PaymentStats {
  /** Names of the shops that the service refuses, at most {@link MAX_SHOPS}. */
  readonly refusedShops: readonly string[];
  /** Consumers whose deliveries are failing and being retried, at most {@link MAX_CONSUMERS}. */
  readonly failingConsumers: readonly FailingConsumer[];
  /** Shops with bills whose checks keep failing, at most {@link MAX_SHOPS}. */
  readonly failingShops: readonly FailingShop[];
}

const MAX_SHOPS = 100;
const MAX_CONSUMERS = 100;

/** How long one reading is shared by all callers. */
const TTL_MS = 1_000;

/** Timeout of a reading. Its connection may be dead, so the next caller starts a new reading. */
const READ_TIMEOUT_MS = 10_000;

/** Readings that timed out may still hold their connections; while there are this many, no new reading starts. */
const MAX_UNFINISHED = 3;

/** A reading that all callers within a second share: probes and scrapes come in bursts. */
class SharedReading<T> {
  private latest: { readonly result: Promise<T>; endedAt?: number } | undefined;
  private unfinished = 0;

  constructor(private readonly load: () => Promise<T>) {}

  /** Joins a reading that is still running, or has ended within the last second; otherwise starts one. */
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

/** Reads the snapshot, and whether the database can be written to. */
@Injectable()
export class Snapshots {
  private readonly snapshot = new SharedReading(() => this.load());
  private readonly writable = new SharedReading(() => this.database.verifyWritable());

  constructor(
    private readonly statistics: StatisticsStore,
    private readonly database: Database,
  ) {}

  /**
   * Sends one small statement: how much work waits in the tables says nothing about the database.
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
