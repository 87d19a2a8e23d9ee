import { backoff } from '../common/retry.js';
import { describeError, errorType } from '../common/errors.js';
import type { LogFields, PaymentLogger } from '../common/payment-logger.js';
import type { PaymentRandom } from '../common/random.js';
import type { ResolvedOptions } from '../config/resolved-options.js';
import type { ClaimedDelivery, DeliveryStore } from '../storage/delivery.store.js';
import type { EventConsumer } from './consumer.js';
import { isNonRetryable } from './non-retryable.js';

/** How an attempt ended that has not succeeded. */
export type Failure = 'retried' | 'unanswered' | 'dead' | 'taken-over';

/** The longest pause of a delivery that its broker has left unanswered: it goes out soon after the broker is back. */
const UNANSWERED_CAP_MS = 30_000;

export const fieldsOf = ({ consumer, eventName: event, id: deliveryId, attempt }: ClaimedDelivery): LogFields => ({
  consumer,
  event,
  deliveryId,
  attempt,
});

/** Decides what becomes of deliveries whose attempt has failed. */
export class FailedAttempts {
  /** How often in a row each broker has not answered. */
  private readonly unanswered = new Map<string, number>();

  constructor(
    private readonly store: DeliveryStore,
    private readonly random: PaymentRandom,
    private readonly options: ResolvedOptions['deliveries'],
    private readonly logger: PaymentLogger,
  ) {}

  settle(consumer: EventConsumer, delivery: ClaimedDelivery, error: unknown): Promise<Failure> {
    const unanswered = consumer.kind === 'broker' && consumer.isUnanswered(error);
    if (!unanswered) this.answered(consumer);
    return unanswered ? this.giveBack(delivery, error) : this.postpone(delivery, error);
  }

  answered({ name }: EventConsumer): void {
    this.unanswered.delete(name);
  }

  /** That a broker has not answered says nothing of the event: it is no attempt, and never a dead letter for it. */
  private async giveBack(delivery: ClaimedDelivery, error: unknown): Promise<Failure> {
    const times = this.unanswered.get(delivery.consumer) ?? 0;
    this.unanswered.set(delivery.consumer, times + 1);
    const { retryBaseMs, retryCapMs } = this.options;
    const pauseMs = backoff(times, retryBaseMs, Math.min(retryCapMs, UNANSWERED_CAP_MS), this.random.fraction());
    const reason = describeError(error);
    const fields = { ...fieldsOf(delivery), error: errorType(error) };
    const what = `${delivery.eventName} to "${delivery.consumer}" (delivery ${delivery.id}) was not answered`;
    if (!(await this.store.giveBack(delivery, reason, pauseMs))) return this.takenOver(what, reason, fields);
    const again = `${what}, which counts as no attempt; the next one is in ${pauseMs} ms. ${reason}`;
    this.logger.warn(again, { ...fields, againInMs: pauseMs });
    return 'unanswered';
  }

  private async postpone(delivery: ClaimedDelivery, error: unknown): Promise<Failure> {
    const reason = describeError(error);
    const { maxAttempts, retryBaseMs, retryCapMs } = this.options;
    const last = isNonRetryable(error) || delivery.attempt >= maxAttempts;
    const pauseMs = last ? null : backoff(delivery.attempt - 1, retryBaseMs, retryCapMs, this.random.fraction());
    const what = `Attempt ${delivery.attempt} of ${delivery.eventName} to "${delivery.consumer}" (delivery ${delivery.id}) failed`;
    const fields = { ...fieldsOf(delivery), error: errorType(error) };
    if (!(await this.store.fail(delivery, reason, pauseMs))) return this.takenOver(what, reason, fields);
    if (pauseMs === null) this.logger.error(`${what}; it is a dead letter now. ${reason}`, fields);
    else this.logger.warn(`${what}; the next one is in ${pauseMs} ms. ${reason}`, { ...fields, againInMs: pauseMs });
    return pauseMs === null ? 'dead' : 'retried';
  }

  private takenOver(what: string, reason: string, fields: LogFields): Failure {
    this.logger.warn(`${what}, but the delivery was completed or taken over meanwhile. ${reason}`, fields);
    return 'taken-over';
  }
}
