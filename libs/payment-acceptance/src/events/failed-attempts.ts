import { backoff } from '../common/retry.js';
import { describeError, errorType } from '../common/errors.js';
import type { LogFields, PaymentLogger } from '../common/payment-logger.js';
import type { PaymentRandom } from '../common/random.js';
import type { ResolvedOptions } from '../config/resolved-options.js';
import { ATTEMPTS_WITHOUT_ORDER, type ClaimedDelivery, type DeliveryStore } from './storage/delivery.store.js';
import { NoConnectionError } from '../database/database.errors.js';
import type { EventConsumer } from './consumer.js';
import { isNonRetryable } from './non-retryable.js';
import { isOrderNotFound } from './order-not-found.js';

/** How a failed attempt ended. */
export type Failure = 'retried' | Uncounted | 'dead' | 'taken-over';

/**
 * Failures that say nothing about the event, so they do not count as attempts: no answer from the broker, or no free
 * connection.
 */
type Uncounted = 'unanswered' | 'no-connection';

const UNCOUNTED = { unanswered: 'was not answered', 'no-connection': 'could not start' };

/** Retries for an order that is not found: up to 51 hours, of which jitter may skip half. */
const PATIENCE = { maxAttempts: ATTEMPTS_WITHOUT_ORDER, retryBaseMs: 5_000, retryCapMs: 3_600_000 };

/** The longest pause after an uncounted failure, so that delivery resumes soon after the problem is over. */
const UNCOUNTED_CAP_MS = 30_000;

export const fieldsOf = ({ consumer, eventName: event, deliveryId, attempt }: ClaimedDelivery): LogFields => ({
  consumer,
  event,
  deliveryId,
  attempt,
});

/** Decides what happens to deliveries whose attempt failed. */
export class FailedAttempts {
  /** Uncounted failures in a row, by consumer. */
  private readonly uncounted = new Map<string, number>();
  private readonly patience: typeof PATIENCE;

  constructor(
    private readonly store: DeliveryStore,
    private readonly random: PaymentRandom,
    private readonly options: ResolvedOptions['deliveries'],
    private readonly logger: PaymentLogger,
  ) {
    this.patience = { ...PATIENCE, maxAttempts: Math.max(PATIENCE.maxAttempts, options.maxAttempts) };
  }

  conclude(consumer: EventConsumer, delivery: ClaimedDelivery, error: unknown): Promise<Failure> {
    if (error instanceof NoConnectionError) return this.releaseUncounted(delivery, error, 'no-connection');
    if (consumer.kind === 'broker' && consumer.isUnanswered(error))
      return this.releaseUncounted(delivery, error, 'unanswered');
    this.begun(consumer);
    return this.postpone(delivery, error);
  }

  /** An attempt has begun, or the broker has answered: ends the row of uncounted failures. */
  begun({ name }: EventConsumer): void {
    this.uncounted.delete(name);
  }

  /** Returns the delivery without counting an attempt, so it never becomes a dead letter for this. */
  private async releaseUncounted(delivery: ClaimedDelivery, error: unknown, why: Uncounted): Promise<Failure> {
    const times = this.uncounted.get(delivery.consumer) ?? 0;
    this.uncounted.set(delivery.consumer, times + 1);
    const { retryBaseMs, retryCapMs } = this.options;
    const pauseMs = backoff(times, retryBaseMs, Math.min(retryCapMs, UNCOUNTED_CAP_MS), this.random.fraction());
    const reason = describeError(error);
    const fields = { ...fieldsOf(delivery), error: errorType(error) };
    const what = `Delivery ${delivery.deliveryId} of ${delivery.eventName} to "${delivery.consumer}" ${UNCOUNTED[why]}`;
    if (!(await this.store.releaseUncounted(delivery, reason, why, pauseMs)))
      return this.takenOver(what, reason, fields);
    const again = `${what}, which does not count as an attempt; retrying in ${pauseMs} ms. ${reason}`;
    this.logger.write('delivery-not-begun', again, { ...fields, againInMs: pauseMs });
    return why;
  }

  private async postpone(delivery: ClaimedDelivery, error: unknown): Promise<Failure> {
    const reason = describeError(error);
    const { maxAttempts, retryBaseMs, retryCapMs } = isOrderNotFound(error) ? this.patience : this.options;
    const most = delivery.orderWasMissing ? this.patience.maxAttempts : maxAttempts;
    const last = isNonRetryable(error) || delivery.attempt >= most;
    const pauseMs = last ? null : backoff(delivery.attempt - 1, retryBaseMs, retryCapMs, this.random.fraction());
    const what = `Attempt ${delivery.attempt} of ${delivery.eventName} to "${delivery.consumer}" (delivery ${delivery.deliveryId}) failed`;
    const fields = { ...fieldsOf(delivery), error: errorType(error) };
    if (!(await this.store.fail(delivery, reason, errorType(error), pauseMs)))
      return this.takenOver(what, reason, fields);
    if (pauseMs === null) {
      this.logger.write('delivery-dead', `${what}; it is now a dead letter. ${reason}`, fields);
      return 'dead';
    }
    const line = `${what}; retrying in ${pauseMs} ms. ${reason}`;
    this.logger.write('delivery-failed', line, { ...fields, againInMs: pauseMs });
    return 'retried';
  }

  private takenOver(what: string, reason: string, fields: LogFields): Failure {
    const line = `${what}, but the delivery was completed or taken over in the meantime. ${reason}`;
    this.logger.write('delivery-taken-over', line, fields);
    return 'taken-over';
  }
}
