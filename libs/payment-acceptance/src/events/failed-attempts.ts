import { backoff } from '../common/retry.js';
import { describeError, errorType, readable } from '../common/errors.js';
import type { LogFields, PaymentLogger } from '../common/payment-logger.js';
import type { PaymentRandom } from '../common/random.js';
import type { ResolvedOptions } from '../config/resolved-options.js';
import { MIN_ATTEMPTS_WITHOUT_ORDER, type ClaimedDelivery, type DeliveryStore } from './storage/delivery.store.js';
import { NoConnectionError } from '../database/database.errors.js';
import type { EventConsumer } from './consumer.js';
import { isNonRetryable, isOrderNotFound } from './consumer.errors.js';

export type Failure = 'retried' | UncountedReason | 'dead' | 'taken-over';

/** Failures that say nothing about the event, so they do not count as attempts. */
type UncountedReason = 'unanswered' | 'no-connection';

const UNCOUNTED_OUTCOMES = { unanswered: 'was not answered', 'no-connection': 'could not start' };

/** Retries for an order that is not found: up to 51 hours, of which jitter may skip half. */
const ORDER_NOT_FOUND_RETRY = { maxAttempts: MIN_ATTEMPTS_WITHOUT_ORDER, retryBaseMs: 5_000, retryCapMs: 3_600_000 };

/** The longest pause after an uncounted failure, so that delivery resumes soon after the problem is over. */
const UNCOUNTED_CAP_MS = 30_000;

export const fieldsOf = ({ consumer, eventName: event, deliveryId, attempt }: ClaimedDelivery): LogFields => ({
  consumer,
  event,
  deliveryId,
  attempt,
});

export class FailedAttempts {
  /** Uncounted failures in a row, by consumer. */
  private readonly uncounted = new Map<string, number>();
  private readonly orderNotFoundRetry = {
    ...ORDER_NOT_FOUND_RETRY,
    maxAttempts: Math.max(ORDER_NOT_FOUND_RETRY.maxAttempts, this.options.maxAttempts),
  };

  constructor(
    private readonly store: DeliveryStore,
    private readonly random: PaymentRandom,
    private readonly options: ResolvedOptions['deliveries'],
    private readonly logger: PaymentLogger,
  ) {}

  conclude(consumer: EventConsumer, delivery: ClaimedDelivery, error: unknown): Promise<Failure> {
    if (readable(() => error instanceof NoConnectionError, false))
      return this.releaseUncounted(delivery, error, 'no-connection');
    if (consumer.kind === 'broker' && consumer.isUnanswered(error))
      return this.releaseUncounted(delivery, error, 'unanswered');
    this.resetUncounted(consumer);
    return this.postpone(delivery, error);
  }

  /** Called when an attempt has begun or the broker has answered. */
  resetUncounted({ name }: EventConsumer): void {
    this.uncounted.delete(name);
  }

  /** Without a counted attempt, the delivery never becomes a dead letter for this reason. */
  private async releaseUncounted(delivery: ClaimedDelivery, error: unknown, why: UncountedReason): Promise<Failure> {
    const times = this.uncounted.get(delivery.consumer) ?? 0;
    this.uncounted.set(delivery.consumer, times + 1);
    const { retryBaseMs, retryCapMs } = this.options;
    const pauseMs = backoff(times, retryBaseMs, Math.min(retryCapMs, UNCOUNTED_CAP_MS), this.random.fraction());
    const reason = describeError(error);
    const fields = { ...fieldsOf(delivery), error: errorType(error) };
    const what = `Delivery ${delivery.deliveryId} of ${delivery.eventName} to "${delivery.consumer}" ${UNCOUNTED_OUTCOMES[why]}`;
    const released = this.store.releaseUncounted(delivery, reason, why, pauseMs);
    if (!(await this.stored('delivery-not-begun', released, what, reason, fields))) return 'taken-over';
    const logLine = `${what}, which does not count as an attempt; retrying in ${pauseMs} ms. ${reason}`;
    this.logger.write('delivery-not-begun', logLine, { ...fields, againInMs: pauseMs });
    return why;
  }

  private async postpone(delivery: ClaimedDelivery, error: unknown): Promise<Failure> {
    const reason = describeError(error);
    const { maxAttempts, retryBaseMs, retryCapMs } = isOrderNotFound(error) ? this.orderNotFoundRetry : this.options;
    const attemptLimit = delivery.orderWasMissing ? this.orderNotFoundRetry.maxAttempts : maxAttempts;
    const last = isNonRetryable(error) || delivery.attempt >= attemptLimit;
    const pauseMs = last ? null : backoff(delivery.attempt - 1, retryBaseMs, retryCapMs, this.random.fraction());
    const what = `Attempt ${delivery.attempt} to deliver ${delivery.eventName} to "${delivery.consumer}" (delivery ${delivery.deliveryId}) failed`;
    const fields = { ...fieldsOf(delivery), error: errorType(error) };
    const failed = this.store.fail(delivery, reason, errorType(error), pauseMs);
    if (!(await this.stored('delivery-failed', failed, what, reason, fields))) return 'taken-over';
    if (pauseMs === null) {
      this.logger.write('delivery-dead', `${what}; it is now a dead letter. ${reason}`, fields);
      return 'dead';
    }
    const line = `${what}; retrying in ${pauseMs} ms. ${reason}`;
    this.logger.write('delivery-failed', line, { ...fields, againInMs: pauseMs });
    return 'retried';
  }

  /** Logs the reason also where it is stored nowhere. */
  private async stored(
    code: 'delivery-failed' | 'delivery-not-begun',
    storing: Promise<boolean>,
    what: string,
    reason: string,
    fields: LogFields,
  ): Promise<boolean> {
    try {
      if (await storing) return true;
    } catch (error) {
      this.logger.write(code, `${what}, and that could not be stored. ${reason}`, fields);
      throw error;
    }
    const line = `${what}, but the delivery was completed or taken over in the meantime. ${reason}`;
    this.logger.write('delivery-taken-over', line, fields);
    return false;
  }
}
