import { Injectable } from '@nestjs/common';
import { PaymentServiceClient } from '../client/payment-service.client.js';
import { errorType } from '../common/errors.js';
import { TimeoutError, withTimeout } from '../common/timeout.js';
import type { WorkerState } from '../common/leased-worker.js';
import { DeliveryWorker } from '../events/delivery.worker.js';
import { Confirmer } from '../settlement/confirmer.js';
import type { FailingConsumer, FailingShop, PaymentStats } from '../domain/records/statistics.js';
import { ReadOnlyDatabaseError } from '../storage/storage.errors.js';
import { Snapshots, type Snapshot } from './snapshot.js';

/** From which values on the module counts as degraded. Ages and pauses in milliseconds. */
export interface PaymentHealthThresholds {
  /** How long the database may take to answer before it counts as unreachable. Default 2000. */
  readonly timeLimitMs?: number;
  /** Age of the longest overdue check of a bill. Default 5 minutes. */
  readonly overdueCheckMs?: number;
  /** Bills whose last five checks, or more, have failed. Default 1. */
  readonly failingBills?: number;
  /** Age of the oldest event that a consumer has not taken. Default 5 minutes. */
  readonly oldestDeliveryMs?: number;
  /** Age of the oldest event whose delivery fails and is tried again. Default 10 minutes. */
  readonly failingDeliveryMs?: number;
  /** Bills whose events are kept back until they are released. Default 1. */
  readonly heldBills?: number;
  /** Dead letters. Default 1. */
  readonly deadLetters?: number;
  /** Open reviews. Default 10. */
  readonly openReviews?: number;
  /** Creations whose outcome never became known. Default 10. */
  readonly unknownBills?: number;
  /** Bills that the service has made and the ledger does not have. Default 1. */
  readonly lostBills?: number;
  /** Requests to the service in a row, of this process, that got no usable answer. Default 3. */
  readonly serviceFailures?: number;
  /** How long a worker of this process may not have looked for work. Default 60000. */
  readonly workerSilenceMs?: number;
}

/** What is wrong while payments can still be taken. */
export type PaymentDegradation =
  | 'checks-overdue'
  | 'checks-failing'
  | 'deliveries-late'
  | 'deliveries-failing'
  | 'bills-held'
  | 'dead-letters'
  | 'open-reviews'
  | 'unknown-outcomes'
  | 'lost-bills'
  | 'shops-refused'
  | 'service-not-answering'
  | 'worker-stalled';

/** The indicator's details. Numbers, and names of shops, consumers and hosts only: nothing about an order, nothing secret. */
export interface PaymentHealth<Status extends string = 'up' | 'down'> {
  readonly status: Status;
  /** Everything that is past its threshold; empty where all is well. */
  readonly degraded: readonly PaymentDegradation[];
  /** `readOnly`: it answers and takes no writes, as a standby, or a primary that has been demoted. */
  readonly database: { readonly reachable: boolean; readonly readOnly?: true; readonly error?: string };
  /** By host: how it has answered the requests of this process. Nothing is asked for the sake of health. */
  readonly service: Readonly<
    Record<string, { lastAnswerAt: string | null; lastFailureAt: string | null; failuresInARow: number }>
  >;
  /** Workers of this process; `not-started` with the role `callbacks` and with `autoStart: false`. */
  readonly workers: { readonly confirmer: WorkerState; readonly deliveries: WorkerState };
  /** Of all instances together; absent while the database cannot be reached. */
  readonly backlog?: PaymentStats & {
    readonly refusedShops: readonly string[];
    /** Consumers whose deliveries fail and are tried again, that of the oldest event first. */
    readonly failingConsumers: readonly FailingConsumer[];
    /** Shops with bills whose last five checks, or more, have failed. */
    readonly failingShops: readonly FailingShop[];
  };
}

const MINUTE = 60_000;

const DEFAULTS: Required<PaymentHealthThresholds> = {
  timeLimitMs: 2_000,
  overdueCheckMs: 5 * MINUTE,
  failingBills: 1,
  oldestDeliveryMs: 5 * MINUTE,
  failingDeliveryMs: 10 * MINUTE,
  heldBills: 1,
  deadLetters: 1,
  openReviews: 10,
  unknownBills: 10,
  lostBills: 1,
  serviceFailures: 3,
  workerSilenceMs: MINUTE,
};

/**
 * Health as `@nestjs/terminus` takes it, which it does not need: `health.check([() => payments.isHealthy('payments')])`.
 *
 * `down` only where the platform has to act: the database does not answer, or takes no writes, so that nothing can be stored. What needs a
 * person, or passes by itself, is `degraded`: an instance that is taken out of service could only make it worse. Never
 * throws. At most one reading of the tables a second, however often it is asked.
 */
@Injectable()
export class PaymentHealthIndicator {
  /** @internal */
  constructor(
    private readonly snapshots: Snapshots,
    private readonly client: PaymentServiceClient,
    private readonly confirmer: Confirmer,
    private readonly deliveries: DeliveryWorker,
  ) {}

  /**
   * @param key under which the result stands
   * @param options thresholds, and the status of what is degraded: `up` (the default) is understood by every version of
   *   Terminus, `degraded` by version 12, which then says so for the whole application and still answers 200
   */
  async isHealthy<Key extends string, Degraded extends 'up' | 'degraded' = 'up'>(
    key: Key,
    options: PaymentHealthThresholds & { readonly degradedStatus?: Degraded } = {},
  ): Promise<Record<Key, PaymentHealth<'up' | 'down' | Degraded>>> {
    const { degradedStatus = 'up', ...given } = options;
    const limits = { ...DEFAULTS, ...given };
    const here = this.ofThisProcess(limits);
    let health: PaymentHealth<'up' | 'down' | Degraded>;
    try {
      const backlog = await withTimeout(limits.timeLimitMs, this.snapshots.read());
      const degraded = [...degradationsOf(backlog, limits), ...here.degraded];
      const status = degraded.length > 0 ? (degradedStatus as Degraded) : 'up';
      health = { ...here, status, degraded, database: { reachable: true }, backlog };
    } catch (error) {
      health = { ...here, status: 'down', database: whyDown(error) };
    }
    return { [key]: health } as Record<Key, typeof health>;
  }

  private ofThisProcess({ workerSilenceMs, serviceFailures }: Required<PaymentHealthThresholds>) {
    const workers = {
      confirmer: this.confirmer.state(workerSilenceMs),
      deliveries: this.deliveries.state(workerSilenceMs),
    };
    const contacts = this.client.contacts.all();
    const degraded: PaymentDegradation[] = [];
    if (contacts.some(({ failuresInARow }) => failuresInARow >= serviceFailures))
      degraded.push('service-not-answering');
    if (Object.values(workers).includes('stalled')) degraded.push('worker-stalled');
    const service = Object.fromEntries(
      contacts.map(({ host, lastAnswerAt, lastFailureAt, failuresInARow }) => [
        host,
        {
          lastAnswerAt: lastAnswerAt?.toISOString() ?? null,
          lastFailureAt: lastFailureAt?.toISOString() ?? null,
          failuresInARow,
        },
      ]),
    );
    return { workers, service, degraded };
  }
}

function whyDown(error: unknown): PaymentHealth['database'] {
  const readOnly = error instanceof ReadOnlyDatabaseError;
  return { reachable: readOnly, ...(readOnly && { readOnly }), error: reasonOf(error) };
}

/** A code such as `ECONNREFUSED`: the driver's own sentences name hosts and users, and health may be public. */
function reasonOf(error: unknown): string {
  return error instanceof TimeoutError ? error.message : errorType(error);
}

function degradationsOf(now: Snapshot, limits: Required<PaymentHealthThresholds>): PaymentDegradation[] {
  const found: [PaymentDegradation, boolean][] = [
    ['checks-overdue', (now.oldestCheckMs ?? 0) >= limits.overdueCheckMs],
    ['checks-failing', now.failingShops.reduce((sum, { bills }) => sum + bills, 0) >= limits.failingBills],
    ['deliveries-late', (now.oldestDeliveryMs ?? 0) >= limits.oldestDeliveryMs],
    ['deliveries-failing', now.failingConsumers.some(({ oldestMs }) => oldestMs >= limits.failingDeliveryMs)],
    ['bills-held', now.heldBills >= limits.heldBills],
    ['dead-letters', now.deadLetters >= limits.deadLetters],
    ['open-reviews', now.openReviews >= limits.openReviews],
    ['unknown-outcomes', now.unknownBills >= limits.unknownBills],
    ['lost-bills', now.lostBills >= limits.lostBills],
    ['shops-refused', now.refusedShops.length > 0],
  ];
  return found.filter(([, past]) => past).map(([reason]) => reason);
}
