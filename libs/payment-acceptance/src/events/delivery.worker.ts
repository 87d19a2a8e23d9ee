import { Inject, Injectable } from '@nestjs/common';
import { PaymentClock } from '../common/clock.js';
import { LeasedWorker, WorkingService, type ClaimResult, type LeasedWork } from '../common/leased-worker.js';
import { Throttle } from '../common/throttle.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { PaymentProbe } from '../common/probe.js';
import { PaymentRandom } from '../common/random.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { DeliveryStore, HOLDING_ATTEMPTS, type ClaimedDelivery, type DeliveryQueue } from './storage/delivery.store.js';
import type { HandlerTransactions } from '../database/handler-transactions.js';
import { PaymentMetrics } from '../telemetry/payment-metrics.js';
import { Telemetry } from '../telemetry/telemetry.js';
import type { EventConsumer } from './consumer.js';
import { DeliverySlots } from './delivery-slots.js';
import { ForeignShops } from './foreign-shops.js';
import { DeliveryAttempts } from './delivery-attempts.js';
import { FailedAttempts, fieldsOf } from './failed-attempts.js';
import { HANDLER_TRANSACTIONS } from './handler-transactions.provider.js';

/** Running deliveries, and how many handlers the pool has room for now. */
export interface DeliveryWorkload {
  /** Running deliveries, including those in transactions. */
  readonly running: number;
  /** Handlers running in transactions, each with a connection of the pool. */
  readonly inTransactions: number;
  /** Maximum concurrent handlers in transactions. */
  readonly limit: number;
}

/** How often to look for last attempts that never ended, and for queues that nobody has freed. */
const HOUSEKEEPING_MS = 30_000;

/** How many waiting deliveries a sweep examines between two claims; takes some milliseconds. */
const SWEEP_BATCH_SIZE = 1_000;

/** How often an instance renews the registration of its consumers. */
const HEARTBEAT_MS = 60_000;

/** Hands events to the consumers this instance hosts. An attempt is counted and leased in a commit before it runs. */
@Injectable()
export class DeliveryWorker extends WorkingService<ClaimedDelivery> implements LeasedWork<ClaimedDelivery> {
  private readonly logger = new PaymentLogger('PaymentDeliveries');
  protected readonly worker: LeasedWorker<ClaimedDelivery>;
  private readonly housekeeping: Throttle;
  private readonly heartbeat: Throttle;
  private readonly slots: DeliverySlots;
  private readonly attempts: DeliveryAttempts;
  private readonly foreignShops: ForeignShops;
  private consumers: readonly EventConsumer[] = [];
  /** Queues whose first delivery ended here and whose next one has not been freed yet. */
  private ended: DeliveryQueue[] = [];
  /** The last queue that the current sweep has examined; `null` at its start, absent if no sweep is under way. */
  private sweepPosition: DeliveryQueue | null | undefined;

  constructor(
    private readonly store: DeliveryStore,
    @Inject(HANDLER_TRANSACTIONS) transactions: HandlerTransactions | undefined,
    private readonly random: PaymentRandom,
    shops: ShopRegistry,
    clock: PaymentClock,
    probe: PaymentProbe,
    private readonly telemetry: Telemetry,
    private readonly metrics: PaymentMetrics,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {
    super();
    const { pollMs, shutdownTimeoutMs } = options;
    const { concurrency } = options.deliveries;
    this.worker = new LeasedWorker(this, { concurrency, pollMs, shutdownTimeoutMs }, this.logger);
    this.housekeeping = new Throttle(clock, HOUSEKEEPING_MS);
    this.heartbeat = new Throttle(clock, HEARTBEAT_MS);
    this.foreignShops = new ForeignShops(shops, clock);
    this.slots = new DeliverySlots(concurrency, transactions?.pool);
    const failed = new FailedAttempts(store, random, options.deliveries, this.logger);
    this.attempts = new DeliveryAttempts(store, transactions, failed, clock, probe, metrics, options);
  }

  /** Registers this instance's consumers; from now on their deliveries are created, and claimed here. */
  async host(consumers: readonly EventConsumer[]): Promise<void> {
    this.consumers = consumers;
    this.slots.host(consumers);
    this.heartbeat.restart();
    await this.store.register(consumers);
    await this.reportMissingShops();
    for (const { name, event, waiting } of await this.store.absentConsumers()) {
      this.logger.write(
        'consumer-absent',
        `No instance has hosted consumer "${name}" of ${event} for an hour. Its deliveries (${waiting} pending) are kept; ` +
          'new events still create more.',
        { consumer: name, event },
      );
    }
  }

  /**
   * Delivers what is due now; resolves with the number of attempts when all have ended. If there is nothing else to do,
   * it first waits for brokers that are connecting for the first time: no caller would come back for them.
   */
  override async runOnce(): Promise<number> {
    const attempts = await this.worker.runOnce();
    const connecting = this.consumers.flatMap((each) => (each.kind === 'broker' && each.connecting()) || []);
    if (attempts > 0 || connecting.length === 0) return attempts;
    await Promise.all(connecting);
    return this.worker.runOnce();
  }

  workload(): DeliveryWorkload {
    const { running: inTransactions, limit } = this.slots.inTransactions;
    return { running: this.slots.running, inTransactions, limit };
  }

  /** Renews the registration, dead-letters abandoned attempts, frees queues and connects brokers. */
  async maintain(): Promise<void> {
    if (this.consumers.length === 0) return;
    if (this.heartbeat.tryTake()) await this.store.register(this.consumers);
    const { ended } = this;
    this.ended = [];
    if (ended.length > 0) await this.store.free(ended, this.consumers);
    if (this.housekeeping.tryTake()) {
      this.sweepPosition ??= null;
      const { maxAttempts } = this.options.deliveries;
      for (const { deliveryId, consumer } of await this.store.deadLetterExhausted(this.consumers, maxAttempts)) {
        const line = `Delivery ${deliveryId} to "${consumer}" is a dead letter: no attempt ended within its lease.`;
        this.logger.write('delivery-dead', line, { consumer, deliveryId });
      }
    }
    if (this.sweepPosition !== undefined) await this.sweep(this.sweepPosition);
    for (const each of this.consumers) if (each.kind === 'broker') each.connect();
  }

  /** Also frees queues whose first delivery ended on another instance, or that a crash kept from being freed. */
  private async sweep(after: DeliveryQueue | null): Promise<void> {
    this.sweepPosition = undefined;
    const queues = await this.store.queuesBehind(after, SWEEP_BATCH_SIZE);
    if (queues.length === SWEEP_BATCH_SIZE) this.sweepPosition = queues.at(-1);
    if (queues.length > 0) await this.store.free(queues, this.consumers);
  }

  async claim(limit: number): Promise<ClaimResult<ClaimedDelivery>> {
    const { consumers, limit: offered, isFull } = this.slots.offer(limit);
    if (consumers.length === 0) return { items: [], nextMs: null, isFull };
    const { maxAttempts } = this.options.deliveries;
    const token = this.random.uuid();
    const { leaseMs } = this.attempts;
    const foreignShops = this.foreignShops.names();
    const { deliveries: items, nextMs } = await this.store.claim({
      ...{ hosted: consumers, foreignShops, limit: offered },
      ...{ leaseMs, token, maxAttempts },
    });
    for (const { consumer } of items) this.slots.take(consumer);
    return { items, nextMs, mayBeMore: items.length === offered, isFull };
  }

  readonly fieldsOf = fieldsOf;

  /** Warns about shops that only another release names. Only people know whether it is older or being rolled out. */
  private async reportMissingShops(): Promise<void> {
    for (const { name, event, shops } of await this.store.consumersMissingShops(this.consumers)) {
      this.logger.write(
        'consumer-omits-shops',
        `On this instance, consumer "${name}" of ${event} omits what another release named: ` +
          `${shops ? `shops ${shops.map((shop) => `"${shop}"`).join(', ')}` : 'all shops'}. ` +
          'Deliveries for what is omitted are kept for instances that name it; new events still create more.',
        { consumer: name, event },
      );
    }
  }

  async process(delivery: ClaimedDelivery, stopping: AbortSignal): Promise<boolean> {
    try {
      return await this.handOver(delivery, stopping);
    } finally {
      this.slots.leave(delivery.consumer);
    }
  }

  private async handOver(delivery: ClaimedDelivery, stopping: AbortSignal): Promise<boolean> {
    // The worker may have been stopped meanwhile.
    if ((await this.foreignShops.isForeign(delivery.shop)) || stopping.aborted) {
      await this.store.releaseLease(delivery);
      return true;
    }
    const consumer = this.consumers.find(
      ({ name, event }) => name === delivery.consumer && event === delivery.eventName,
    );
    if (!consumer)
      throw new Error(`Delivery ${delivery.deliveryId} was claimed for "${delivery.consumer}", which is not hosted.`);
    const attributes = {
      'payment.event': delivery.eventName,
      'payment.consumer': delivery.consumer,
      'payment.delivery_id': delivery.deliveryId,
      'payment.attempt': delivery.attempt,
    };
    const options = { kind: 'consumer', attributes, parent: delivery.traceparent } as const;
    return this.telemetry.span('payment.deliver', options, async (span) => {
      const { outcome, isFollowed } = await this.attempts.run(consumer, delivery, stopping, span);
      const isReleasing = outcome === 'done' || outcome === 'dead' || delivery.attempt >= HOLDING_ATTEMPTS;
      if (isFollowed && isReleasing) this.ended.push(delivery);
      span.set({ 'payment.outcome': outcome });
      this.metrics.delivery(delivery.consumer, delivery.eventName, outcome);
      return isFollowed || outcome !== 'done';
    });
  }
}
