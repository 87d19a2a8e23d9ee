import { Inject, Injectable } from '@nestjs/common';
import { DroppedCallbacks } from '../callbacks/dropped-callbacks.js';
import { PaymentServiceClient } from '../client/payment-service.client.js';
import type { ServiceContact } from '../client/service-contacts.js';
import { PaymentClock } from '../common/clock.js';
import { errorType } from '../common/errors.js';
import { TimeoutError, withTimeout } from '../common/timeout.js';
import type { WorkerState } from '../common/leased-worker.js';
import { PaymentConfigurationError } from '../config/configuration.error.js';
import { PAYMENT_ROLE, type PaymentAcceptanceExtras } from '../config/extras.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { DeliveryWorker } from '../events/delivery.worker.js';
import { Confirmer } from '../settlement/confirmer.js';
import { SettlementTransactions } from '../settlement/settlement.transactions.js';
import type { FailingConsumer, FailingShop, PaymentStats } from './statistics.js';
import { PaymentReadOnlyDatabaseError } from '../database/database.errors.js';
import { Snapshots, type Snapshot } from './snapshot.js';

/** Values from which the module counts as degraded. Ages and durations in milliseconds. */
export interface PaymentHealthThresholds {
  /** How long the database may take to answer before it counts as unreachable. Default 2000. */
  readonly timeoutMs?: number;
  /** How long the most overdue check of a bill has waited. Default 5 minutes. */
  readonly overdueCheckMs?: number;
  /** Bills whose last five or more checks have failed. Default 1. */
  readonly failingBills?: number;
  /** Age of the oldest undelivered event. Default 5 minutes. */
  readonly oldestDeliveryMs?: number;
  /** Age of the oldest event whose delivery is failing and being retried. Default 10 minutes. */
  readonly failingDeliveryMs?: number;
  /** Dead letters. Default 1. */
  readonly deadLetters?: number;
  /** Open reviews. Default 10. */
  readonly openReviews?: number;
  /** Open reviews of payments whose status the specification does not have. Default 1. */
  readonly unknownStatuses?: number;
  /** Creations whose outcome never became known. Default 10. */
  readonly unknownBills?: number;
  /** Bills that exist at the service but not in the ledger. Default 1. */
  readonly lostBills?: number;
  /** Consecutive requests from this process that got no usable answer from the service. Default 3. */
  readonly serviceFailures?: number;
  /** How long, beyond `pollMs`, a worker of this process may go without a poll that succeeds. Default 60000. */
  readonly workerSilenceMs?: number;
}

/** Reasons for being degraded; payments can still be taken. */
export type PaymentDegradation =
  | 'checks-overdue'
  | 'checks-failing'
  | 'deliveries-late'
  | 'deliveries-failing'
  | 'dead-letters'
  | 'open-reviews'
  | 'unknown-statuses'
  | 'unknown-outcomes'
  | 'lost-bills'
  | 'shops-refused'
  | 'callbacks-refused'
  | 'events-without-consumer'
  | 'backlog-unknown'
  | 'service-not-answering'
  | 'worker-stalled';

/** The indicator's details: only numbers and the names of shops, consumers and hosts. No order data, no secrets. */
export interface PaymentHealth<Status extends string = 'up' | 'down'> {
  readonly status: Status;
  /** Everything that has reached its threshold; empty if all is well. */
  readonly degraded: readonly PaymentDegradation[];
  /** `readOnly`: it answers but takes no writes, like a standby or a demoted primary. */
  readonly database: { readonly reachable: boolean; readonly readOnly?: true; readonly error?: string };
  /** By host: how the service answered this process's requests. A health check sends no request of its own. */
  readonly service: Readonly<
    Record<string, { lastAnswerAt: string | null; lastFailureAt: string | null; failuresInARow: number }>
  >;
  /**
   * Workers of this process; `not-started` with the role `callbacks`, with `autoStart: false`, and before the
   * application listens. Of these, only the last counts as degraded.
   */
  readonly workers: { readonly checks: WorkerState; readonly deliveries: WorkerState };
  /**
   * Of all instances together; absent while the database is unreachable, or if the figures could not be read in time.
   */
  readonly backlog?: PaymentStats & {
    readonly refusedShops: readonly string[];
    /** Consumers whose deliveries are failing and being retried; the one with the oldest event comes first. */
    readonly failingConsumers: readonly FailingConsumer[];
    /** Shops with bills whose last five or more checks have failed. */
    readonly failingShops: readonly FailingShop[];
  };
}

const MINUTE = 60_000;

const DEFAULTS: Record<keyof PaymentHealthThresholds, number> = {
  timeoutMs: 2_000,
  overdueCheckMs: 5 * MINUTE,
  failingBills: 1,
  oldestDeliveryMs: 5 * MINUTE,
  failingDeliveryMs: 10 * MINUTE,
  deadLetters: 1,
  openReviews: 10,
  unknownStatuses: 1,
  unknownBills: 10,
  lostBills: 1,
  serviceFailures: 3,
  workerSilenceMs: MINUTE,
};

function limitsOf(thresholds: PaymentHealthThresholds): Required<PaymentHealthThresholds> {
  const limits = { ...DEFAULTS };
  const problems: string[] = [];
  for (const name of Object.keys(DEFAULTS) as (keyof PaymentHealthThresholds)[]) {
    const limit: unknown = thresholds[name];
    if (typeof limit === 'number' && limit >= 0) limits[name] = limit;
    else if (limit !== undefined) problems.push(`${name}: must be a number that is not negative.`);
  }
  if (problems.length > 0) throw new PaymentConfigurationError(problems, 'PaymentHealthIndicator');
  return limits;
}

/** A host whose last failure is older than this does not count as failing: it may no longer be used. */
const FAILURE_FORGOTTEN_MS = 3_600_000;

/**
 * Health in the format of `@nestjs/terminus`, which is not required:
 * `health.check([() => payments.isHealthy('payments')])`.
 *
 * `down` only if the platform has to act: the database does not answer or takes no writes, so nothing can be stored.
 * What needs a person, or passes by itself, is `degraded`: taking instances out of service would only make it worse. So
 * is a backlog whose figures cannot be read in time (`backlog-unknown`). No failure of the database or the service
 * makes it throw. Reads the tables at most once a second, however often it is called.
 */
@Injectable()
export class PaymentHealthIndicator {
  /** @internal */
  constructor(
    private readonly snapshots: Snapshots,
    private readonly client: PaymentServiceClient,
    private readonly confirmer: Confirmer,
    private readonly deliveries: DeliveryWorker,
    private readonly dropped: DroppedCallbacks,
    private readonly settlements: SettlementTransactions,
    private readonly clock: PaymentClock,
    @Inject(PAYMENT_ROLE) private readonly role: NonNullable<PaymentAcceptanceExtras['role']>,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /**
   * @param key key of the result
   * @param options thresholds, and the status to report when degraded: every version of Terminus understands `up` (the
   *   default); version 12 also understands `degraded`, reports it for the whole application and still answers 200
   * @throws PaymentConfigurationError for a threshold that is not a number, or negative
   */
  async isHealthy<Key extends string, Degraded extends 'up' | 'degraded' = 'up'>(
    key: Key,
    options: PaymentHealthThresholds & { readonly degradedStatus?: Degraded } = {},
  ): Promise<Record<Key, PaymentHealth<'up' | 'down' | Degraded>>> {
    const { degradedStatus = 'up', ...thresholds } = options;
    const limits = limitsOf(thresholds);
    const processHealth = this.ofThisProcess(limits);
    let health: PaymentHealth<'up' | 'down' | Degraded>;
    const until = performance.now() + limits.timeoutMs;
    try {
      await withTimeout(limits.timeoutMs, this.snapshots.verifyWritable());
      const figures = await this.figures(Math.ceil(until - performance.now()));
      const degraded = [...degradationsOf(figures.backlog, limits), ...processHealth.degraded];
      const status = degraded.length > 0 ? (degradedStatus as Degraded) : 'up';
      health = { ...processHealth, status, degraded, ...figures };
    } catch (error) {
      health = { ...processHealth, status: 'down', database: whyDown(error) };
    }
    return { [key]: health } as Record<Key, typeof health>;
  }

  /** Called once the database has answered: even if the figures cannot be read in time, payments can be taken. */
  private async figures(timeoutMs: number): Promise<Pick<PaymentHealth, 'database' | 'backlog'>> {
    try {
      return { database: { reachable: true }, backlog: await withTimeout(timeoutMs, this.snapshots.read()) };
    } catch (error) {
      return { database: { reachable: true, error: reasonOf(error) } };
    }
  }

  private ofThisProcess({ workerSilenceMs, serviceFailures }: Required<PaymentHealthThresholds>) {
    const workers = {
      checks: this.confirmer.state(workerSilenceMs),
      deliveries: this.deliveries.state(workerSilenceMs),
    };
    const contacts = this.client.contacts.all();
    const degraded: PaymentDegradation[] = [];
    const recently = this.clock.now().getTime() - FAILURE_FORGOTTEN_MS;
    const isFailing = ({ failuresInARow, lastFailureAt }: ServiceContact): boolean =>
      failuresInARow >= serviceFailures && (lastFailureAt?.getTime() ?? 0) > recently;
    if (contacts.some(isFailing)) degraded.push('service-not-answering');
    if (this.dropped.refusesAll) degraded.push('callbacks-refused');
    if (this.settlements.hasUnconsumed) degraded.push('events-without-consumer');
    const isLate = this.options.autoStart && this.role !== 'callbacks';
    if (Object.values(workers).some((state) => state === 'stalled' || (isLate && state === 'not-started')))
      degraded.push('worker-stalled');
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
  const readOnly = error instanceof PaymentReadOnlyDatabaseError;
  return { reachable: readOnly, ...(readOnly && { readOnly }), error: reasonOf(error) };
}

/** A code such as `ECONNREFUSED`: the driver's messages name hosts and users, and health may be public. */
function reasonOf(error: unknown): string {
  if (error instanceof TimeoutError) return error.message;
  const type = errorType(error);
  // Errors of a server have codes; `pg` gives none if the connection is closed in between.
  return type === 'Error' || type === 'QueryFailedError' ? 'connection-lost' : type;
}

function degradationsOf(now: Snapshot | undefined, limits: Required<PaymentHealthThresholds>): PaymentDegradation[] {
  if (!now) return ['backlog-unknown'];
  const conditions: [PaymentDegradation, boolean][] = [
    ['checks-overdue', (now.oldestCheckMs ?? 0) >= limits.overdueCheckMs],
    ['checks-failing', now.failingShops.reduce((sum, { bills }) => sum + bills, 0) >= limits.failingBills],
    ['deliveries-late', (now.oldestDeliveryMs ?? 0) >= limits.oldestDeliveryMs],
    ['deliveries-failing', now.failingConsumers.some(({ oldestMs }) => oldestMs >= limits.failingDeliveryMs)],
    ['dead-letters', now.deadLetters >= limits.deadLetters],
    ['open-reviews', now.openReviews >= limits.openReviews],
    ['unknown-statuses', now.unknownStatuses >= limits.unknownStatuses],
    ['unknown-outcomes', now.unknownBills >= limits.unknownBills],
    ['lost-bills', now.lostBills >= limits.lostBills],
    ['shops-refused', now.refusedShops.length > 0],
  ];
  return conditions.filter(([, isExceeded]) => isExceeded).map(([reason]) => reason);
}
