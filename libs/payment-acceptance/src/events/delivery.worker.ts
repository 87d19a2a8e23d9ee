import { Inject, Injectable } from '@nestjs/common';
import { backoff } from '../common/backoff.js';
import { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import { LeasedWorker, type LeasedWork, type WorkerState } from '../common/leased-worker.js';
import { NowAndThen } from '../common/now-and-then.js';
import { PaymentLogger, type LogFields } from '../common/payment-logger.js';
import { PaymentProbe } from '../common/probe.js';
import { PaymentRandom } from '../common/random.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { DeliveryStore, type ClaimedDelivery } from '../storage/delivery.store.js';
import { DestroyableTransaction } from '../storage/destroyable-transaction.js';
import { PaymentMetrics } from '../telemetry/payment-metrics.js';
import { Telemetry, type ActiveSpan } from '../telemetry/telemetry.js';
import { isNonRetryable } from './non-retryable.js';
import type { AnyPaymentEvent, EventConsumer } from './consumer.js';
import { paymentEvent, type EventData, type PaymentEventName } from './payment-events.js';

/** How an attempt ended. */
type DeliveryOutcome = 'done' | 'retried' | 'dead' | 'taken-over';

/** How much longer than an attempt's time limit its lease is: time to end it and to record that. */
const LEASE_MARGIN_MS = 15_000;

/** How often attempts are looked for that were the last and never ended. */
const HOUSEKEEPING_MS = 30_000;

/** How often an instance says that it still hosts its consumers, and after which silence nobody waits for one. */
const HEARTBEAT_MS = 60_000;
const ABSENT_MS = 3_600_000;

/**
 * Hands events to the consumers this instance hosts. An attempt is counted and leased in a transaction of its own
 * before it runs; a durable handler then runs in the transaction that marks its delivery done.
 */
@Injectable()
export class DeliveryWorker implements LeasedWork<ClaimedDelivery> {
  private readonly logger = new PaymentLogger('PaymentDeliveries');
  private readonly worker: LeasedWorker<ClaimedDelivery>;
  private readonly house: NowAndThen;
  private restMs: number | null = null;
  private consumers: readonly EventConsumer[] = [];
  private announcedAt = 0;

  constructor(
    private readonly store: DeliveryStore,
    private readonly transactions: DestroyableTransaction,
    private readonly random: PaymentRandom,
    private readonly clock: PaymentClock,
    private readonly probe: PaymentProbe,
    private readonly telemetry: Telemetry,
    private readonly metrics: PaymentMetrics,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {
    this.worker = new LeasedWorker(this, options.deliveries, this.logger);
    this.house = new NowAndThen(clock, HOUSEKEEPING_MS);
  }

  /** @internal Registers the consumers of this instance; their deliveries are created from now on, and claimed here. */
  async host(consumers: readonly EventConsumer[]): Promise<void> {
    this.consumers = consumers;
    await this.announce();
    for (const { name, event, waiting } of await this.store.absent(ABSENT_MS)) {
      this.logger.warn(
        `No instance has hosted consumer "${name}" of ${event} for an hour. Its deliveries (${waiting} pending) are kept; ` +
          'events still make new ones.',
        { consumer: name, event },
      );
    }
  }

  /** Hands over what is due now; resolves with the number of attempts when all have ended. */
  runOnce(): Promise<number> {
    return this.worker.runOnce();
  }

  start(): void {
    this.worker.start();
  }

  /** Whether it runs by itself, and has looked for work within the last `silenceMs`. */
  state(silenceMs: number): WorkerState {
    return this.worker.state(silenceMs);
  }

  wake(): void {
    this.worker.wake();
  }

  /** Begins nothing more; resolves when running handlers have ended, each within its time limit. */
  stop(): Promise<void> {
    return this.worker.stop();
  }

  /** @internal */
  async claim(limit: number): Promise<ClaimedDelivery[]> {
    if (this.consumers.length === 0) return [];
    if (this.clock.now().getTime() - this.announcedAt >= HEARTBEAT_MS) await this.announce();
    const { timeLimitMs, maxAttempts } = this.options.deliveries;
    if (this.house.isDue()) await this.bury(maxAttempts);
    const ready = await this.readyConsumers();
    this.restMs = null;
    if (ready.length === 0) return [];
    const leaseMs = timeLimitMs + LEASE_MARGIN_MS;
    const claimed = await this.store.claim(ready, limit, leaseMs, this.random.uuid(), ABSENT_MS, maxAttempts);
    if (claimed.length === 0) this.restMs = await this.store.nextDueMs(ready);
    return claimed;
  }

  /** @internal */
  rest(): number | null {
    return this.restMs;
  }

  /** @internal */
  fieldsOf({ consumer, eventName: event, id: deliveryId, attempt }: ClaimedDelivery): LogFields {
    return { consumer, event, deliveryId, attempt };
  }

  private async readyConsumers(): Promise<readonly EventConsumer[]> {
    const answers = await Promise.all(
      this.consumers.map(async (each) => each.kind === 'transaction' || (await each.ready?.()) !== false),
    );
    return this.consumers.filter((_each, index) => answers[index]);
  }

  private async bury(maxAttempts: number): Promise<void> {
    for (const { id, consumer } of await this.store.buryExhausted(maxAttempts)) {
      this.logger.error(`Delivery ${id} to "${consumer}" is a dead letter: no attempt ended within its lease.`, {
        consumer,
        deliveryId: id,
      });
    }
  }

  private async announce(): Promise<void> {
    this.announcedAt = this.clock.now().getTime();
    await this.store.register(this.consumers);
  }

  /** @internal */
  async process(delivery: ClaimedDelivery, stopping: AbortSignal): Promise<void> {
    if (stopping.aborted) return this.store.release(delivery);
    const consumer = this.consumers.find(
      ({ name, event }) => name === delivery.consumer && event === delivery.eventName,
    );
    if (!consumer)
      throw new Error(`Delivery ${delivery.id} was claimed for "${delivery.consumer}", which is not hosted.`);
    const attributes = {
      'payment.event': delivery.eventName,
      'payment.consumer': delivery.consumer,
      'payment.delivery_id': delivery.id,
      'payment.attempt': delivery.attempt,
    };
    const options = { kind: 'consumer', attributes, parent: delivery.traceparent } as const;
    await this.telemetry.span('payment.deliver', options, async (span) => {
      const outcome = await this.deliver(consumer, delivery, stopping, span);
      span.set({ 'payment.outcome': outcome });
      this.metrics.delivery(delivery.consumer, delivery.eventName, outcome);
    });
  }

  private async deliver(
    consumer: EventConsumer,
    delivery: ClaimedDelivery,
    stopping: AbortSignal,
    span: ActiveSpan,
  ): Promise<DeliveryOutcome> {
    const deadline = new AbortController();
    const { timeLimitMs, shutdownMs } = this.options.deliveries;
    const endAfter = (ms: number, reason: string): NodeJS.Timeout =>
      setTimeout(() => deadline.abort(new Error(`The handler did not end within ${ms} ms${reason}.`)), ms);
    const timers = [endAfter(timeLimitMs, '')];
    const onStop = (): void => void timers.push(endAfter(shutdownMs, ' of the shutdown'));
    stopping.addEventListener('abort', onStop, { once: true });
    try {
      const event = await this.attempt(consumer, delivery, deadline.signal);
      if (!event) return 'taken-over';
      this.metrics.lagOfDelivery(delivery.consumer, this.clock.now().getTime() - Date.parse(event.occurredAt));
      return 'done';
    } catch (error) {
      span.fail(error);
      return await this.putOff(delivery, error);
    } finally {
      timers.forEach((timer) => clearTimeout(timer));
      stopping.removeEventListener('abort', onStop);
    }
  }

  /** Gives the event that was taken; `undefined` where another instance had taken the delivery over. */
  private async attempt(
    consumer: EventConsumer,
    delivery: ClaimedDelivery,
    signal: AbortSignal,
  ): Promise<AnyPaymentEvent | undefined> {
    if (consumer.kind === 'lease') {
      const event = revive(delivery);
      this.probe.reached('before listeners');
      await untilAborted(consumer.handle(event, signal, delivery.traceparent), signal);
      this.probe.reached('after listeners');
      return (await this.store.complete(delivery)) ? event : undefined;
    }
    let event: AnyPaymentEvent | undefined;
    await this.transactions.run(async (manager) => {
      const own = await this.store.completeWith(manager, delivery);
      if (!own) return;
      event = revive({ ...delivery, late: own.late });
      this.probe.reached('before handler');
      await consumer.handle(event, { manager, signal, attempt: delivery.attempt, deliveryId: delivery.id });
      this.probe.reached('after handler');
    }, signal);
    this.probe.reached('after COMMIT of a handler');
    return event;
  }

  private async putOff(delivery: ClaimedDelivery, error: unknown): Promise<DeliveryOutcome> {
    const reason = describeError(error);
    const { maxAttempts, retryBaseMs, retryCapMs } = this.options.deliveries;
    const last = isNonRetryable(error) || delivery.attempt >= maxAttempts;
    const pauseMs = last ? null : backoff(delivery.attempt - 1, retryBaseMs, retryCapMs, this.random.fraction());
    const what = `Attempt ${delivery.attempt} of ${delivery.eventName} to "${delivery.consumer}" (delivery ${delivery.id}) failed`;
    const fields = { ...this.fieldsOf(delivery), error: errorType(error) };
    if (!(await this.store.fail(delivery, reason, pauseMs))) {
      this.logger.warn(`${what}, but the delivery was completed or taken over meanwhile. ${reason}`, fields);
      return 'taken-over';
    }
    if (pauseMs === null) this.logger.error(`${what}; it is a dead letter now. ${reason}`, fields);
    else this.logger.warn(`${what}; the next one is in ${pauseMs} ms. ${reason}`, { ...fields, againInMs: pauseMs });
    return pauseMs === null ? 'dead' : 'retried';
  }
}

function revive({ payload, late, billState }: ClaimedDelivery): AnyPaymentEvent {
  const { name, ...data } = JSON.parse(payload) as { name: PaymentEventName } & EventData<PaymentEventName>;
  return paymentEvent(name, late ? { ...data, late, bill: billState } : data);
}

/** Work outside a transaction cannot be undone: it is only no longer waited for. */
function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return Promise.race([
    work,
    new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    }),
  ]);
}
