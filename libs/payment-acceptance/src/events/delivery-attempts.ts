import type { PaymentClock } from '../common/clock.js';
import type { PaymentProbe } from '../common/probe.js';
import type { ResolvedOptions } from '../config/resolved-options.js';
import { paymentEvent, type EventData, type PaymentEventName } from '../domain/payment-events.js';
import type { ClaimedDelivery, CompletedDelivery, DeliveryLock, DeliveryStore } from './storage/delivery.store.js';
import type { EnclosingTransaction } from '../database/database.js';
import type { HandlerTransactions } from '../database/handler-transactions.js';
import type { PaymentMetrics } from '../telemetry/payment-metrics.js';
import type { ActiveSpan } from '../telemetry/telemetry.js';
import type { AnyPaymentEvent, EventConsumer } from './consumer.js';
import type { FailedAttempts, Failure } from './failed-attempts.js';

export interface AttemptEnd {
  readonly outcome: 'done' | Failure;
  /** Whether a later delivery of the same queue might be waiting for this one. */
  readonly isFollowed: boolean;
}

interface HandledEvent extends CompletedDelivery {
  readonly event: AnyPaymentEvent;
}

/** After waiting this long for its connection, a handler gives its slot to another consumer. */
const CONNECT_MS = 10_000;

/** Time after the longest attempt in which to end it and record its outcome. */
const LEASE_MARGIN_MS = 15_000;

/**
 * Runs claimed attempts. A durable handler runs in a transaction that begins by locking the delivery, by its token, and
 * ends by marking it done: lock, handler, mark, COMMIT.
 */
export class DeliveryAttempts {
  private readonly connectMs = Math.min(this.options.deliveries.timeoutMs, CONNECT_MS);
  /** How long the transaction may stay open after the attempt begins. */
  private readonly unattendedMs = this.options.deliveries.timeoutMs + LEASE_MARGIN_MS;
  /** An attempt may first wait for a connection, and then has its full time limit. */
  readonly leaseMs = this.connectMs + this.unattendedMs;

  constructor(
    private readonly store: DeliveryStore,
    private readonly transactions: HandlerTransactions | undefined,
    private readonly failed: FailedAttempts,
    private readonly clock: PaymentClock,
    private readonly probe: PaymentProbe,
    private readonly metrics: PaymentMetrics,
    private readonly options: ResolvedOptions,
  ) {}

  async run(
    consumer: EventConsumer,
    delivery: ClaimedDelivery,
    stopping: AbortSignal,
    span: ActiveSpan,
  ): Promise<AttemptEnd> {
    const deadline = new AbortController();
    const { shutdownTimeoutMs } = this.options;
    const { timeoutMs } = this.options.deliveries;
    const timers: NodeJS.Timeout[] = [];
    const endAfter = (ms: number, reason: string): void => {
      const end = (): void => deadline.abort(new Error(`The handler did not end within ${ms} ms${reason}.`));
      timers.push(setTimeout(end, ms));
    };
    const onStop = (): void => endAfter(shutdownTimeoutMs, ' of the shutdown');
    stopping.addEventListener('abort', onStop, { once: true });
    try {
      const handled = await this.attempt(consumer, delivery, deadline.signal, () => endAfter(timeoutMs, ''));
      if (!handled) return { outcome: 'taken-over', isFollowed: false };
      const { event, isFollowed } = handled;
      const now = this.clock.now().getTime();
      this.metrics.lagOfDelivery(delivery.consumer, now - Date.parse(event.occurredAt));
      // Nobody has waited since then for what an operator delivers later.
      if (delivery.assertedAt && !delivery.isReplay)
        this.metrics.lagOfSettlement(delivery, now - delivery.assertedAt.getTime());
      return { outcome: 'done', isFollowed };
    } catch (error) {
      span.fail(error);
      return { outcome: await this.failed.conclude(consumer, delivery, error), isFollowed: true };
    } finally {
      timers.forEach((timer) => clearTimeout(timer));
      stopping.removeEventListener('abort', onStop);
    }
  }

  /**
   * Returns `undefined` if another instance had taken over the delivery.
   * @param begins starts the time limit, once the attempt has everything it needs
   */
  private async attempt(
    consumer: EventConsumer,
    delivery: ClaimedDelivery,
    signal: AbortSignal,
    begins: () => void,
  ): Promise<HandledEvent | undefined> {
    if (consumer.kind !== 'transaction') {
      const event = parseEvent(delivery);
      begins();
      this.probe.reached('before listeners');
      const handed = consumer.handle(event, signal, delivery);
      await (consumer.kind === 'broker' ? handed : untilAborted(handed, signal));
      this.probe.reached('after listeners');
      this.failed.resetUncounted(consumer);
      const completed = await this.store.complete(delivery);
      return completed && { event, ...completed };
    }
    if (!this.transactions) throw new Error('A handler without transactions was not refused at the start.');
    let event: AnyPaymentEvent | undefined;
    const { connectMs, unattendedMs } = this;
    let lock: DeliveryLock | undefined;
    let completed: CompletedDelivery | undefined;
    const finish = async (within: EnclosingTransaction): Promise<void> => {
      if (lock) completed = await this.store.completeLocked(within, delivery, lock);
    };
    const isCommitted = async (): Promise<boolean> => !lock || this.store.isDone(delivery);
    const limits = { signal, connectMs, connected: begins, unattendedMs, finish, isCommitted };
    await this.transactions.run(limits, async (within) => {
      lock = await this.store.lock(within, delivery, unattendedMs);
      if (!lock) return;
      event = parseEvent({ ...delivery, late: lock.late });
      this.probe.reached('before handler');
      const { tx } = within;
      const { attempt, deliveryId } = delivery;
      await consumer.handle(event, { tx, manager: tx, signal, attempt, deliveryId });
      this.probe.reached('after handler');
    });
    this.probe.reached('after COMMIT of a handler');
    this.failed.resetUncounted(consumer);
    return event && { event, isFollowed: completed?.isFollowed ?? true };
  }
}

function parseEvent({ payload, late, billState }: ClaimedDelivery): AnyPaymentEvent {
  const { name, ...data } = JSON.parse(payload) as { name: PaymentEventName } & EventData<PaymentEventName>;
  return paymentEvent(name, late ? { ...data, late, billState } : data);
}

/** Work outside a transaction can only be abandoned, not undone. */
function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return Promise.race([
    work,
    new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    }),
  ]);
}
