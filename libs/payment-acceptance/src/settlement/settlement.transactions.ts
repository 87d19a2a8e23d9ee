import { Inject, Injectable } from '@nestjs/common';
import { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { RateLimitedLog } from '../common/rate-limited-log.js';
import { WakeUps } from '../common/wake-ups.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import type { OwnTransaction } from '../database/own-transaction.js';
import type { LockedBill } from '../domain/bill.js';
import type { Settlement } from '../domain/settlement.js';
import { DeliveryStore, type DeliveryQueue } from '../events/storage/delivery.store.js';
import { CheckStore } from './storage/check.store.js';
import { SettlementStore, type AddedEvent } from './storage/settlement.store.js';

/** Each log line says how many were left out before it. */
const UNCONSUMED_LOG_INTERVAL_MS = 60_000;

/** How long a success that no consumer hears of counts as a reason of health. */
const UNCONSUMED_MEMORY_MS = 3_600_000;

/** By id. */
export type NewEvents = ReadonlyMap<string, AddedEvent>;

/** Called once, as the last step of a transaction. */
export type WriteSettlements = (settlements: readonly Settlement[]) => Promise<NewEvents>;

/** Each transaction writes what was decided, with its events and deliveries. */
@Injectable()
export class SettlementTransactions {
  private readonly logger = new PaymentLogger('PaymentSettlement');
  private readonly unconsumed = new RateLimitedLog(this.logger, this.clock, UNCONSUMED_LOG_INTERVAL_MS);
  /** When a payment last succeeded that no consumer hears of. */
  private unconsumedAt = -Infinity;

  constructor(
    private readonly store: SettlementStore,
    private readonly checks: CheckStore,
    private readonly deliveries: DeliveryStore,
    private readonly clock: PaymentClock,
    private readonly wakeUps: WakeUps,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /** Whether a payment has succeeded here within the last hour that no consumer hears of. */
  get hasUnconsumed(): boolean {
    return this.clock.elapsed() - this.unconsumedAt < UNCONSUMED_MEMORY_MS;
  }

  /**
   * After the commit, frees deliveries that were queued behind others that have ended meanwhile, and wakes the delivery
   * workers.
   * @param readsFirst see `Database.transaction`
   */
  async run<T>(work: (tx: OwnTransaction, write: WriteSettlements) => Promise<T>, readsFirst: boolean): Promise<T> {
    let written = NOTHING_WRITTEN;
    const value = await this.store.transaction((tx) => {
      written = NOTHING_WRITTEN;
      return work(tx, async (settlements) => {
        written = await this.write(tx, settlements);
        return written.added;
      });
    }, readsFirst);
    if (written.hasUnconsumed) this.unconsumedAt = this.clock.elapsed();
    if (written.waiting.length > 0) await this.free(written.waiting);
    if (written.hasDeliveries) this.wakeUps.notify('event');
    return value;
  }

  private async free(waiting: readonly DeliveryQueue[]): Promise<void> {
    try {
      await this.deliveries.free(waiting, []);
    } catch (error) {
      const what = 'Could not free new deliveries that are queued behind others; retrying within a minute.';
      this.logger.write('deliveries-not-freed', `${what} ${describeError(error)}`, { error: errorType(error) });
    }
  }

  private async write(tx: OwnTransaction, settlements: readonly Settlement[]): Promise<WriteResult> {
    if (settlements.length === 0) return NOTHING_WRITTEN;
    const postponed = settlements.flatMap(({ hints }) => hints.postponed);
    await this.checks.answerHints({ consumed: [], postponed }, tx);
    const addedEvents = await this.store.write(tx, settlements, this.options.schedule.minGapMs);
    const redacted = settlements.flatMap(({ bill }) => (bill.redacted ? bill.intentId : []));
    if (redacted.length > 0) await this.store.redactCallbacks(tx, redacted);
    const added = new Map(addedEvents.map((event) => [event.id, event]));
    let hasUnconsumed = false;
    const waiting = settlements.flatMap(({ bill, events }) =>
      events.flatMap(({ id, name }) => {
        const event = added.get(id);
        if (event?.deliveries === 0) {
          this.warnOfNoConsumer(bill, id, name);
          hasUnconsumed ||= name === 'payment.succeeded';
        }
        return event?.behind.map((consumer) => ({ intentId: bill.intentId, consumer })) ?? [];
      }),
    );
    return { added, waiting, hasDeliveries: addedEvents.some(({ deliveries }) => deliveries > 0), hasUnconsumed };
  }

  private warnOfNoConsumer({ shop, orderId, billId }: LockedBill, eventId: string, event: string): void {
    const line = (): string =>
      `No consumer handles ${event} of shop "${shop}": event ${eventId} is stored but not delivered. ` +
      `Add a handler with @OnPaymentEvent('${event}', { consumer: … }).`;
    this.unconsumed.write('event-without-consumer', `${event} ${shop}`, line, {
      shop,
      orderId,
      billId,
      event,
      eventId,
    });
  }
}

interface WriteResult {
  readonly added: NewEvents;
  /** The queues in which a new delivery waits behind another one. */
  readonly waiting: readonly DeliveryQueue[];
  readonly hasDeliveries: boolean;
  /** Whether a `payment.succeeded` has no consumer. */
  readonly hasUnconsumed: boolean;
}

const NOTHING_WRITTEN: WriteResult = { added: new Map(), waiting: [], hasDeliveries: false, hasUnconsumed: false };
