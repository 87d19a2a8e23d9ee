import { Inject, Injectable } from '@nestjs/common';
import { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { RateLimitedLog } from '../common/rate-limited-log.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import type { OwnTransaction } from '../database/own-transaction.js';
import type { LockedBill } from '../domain/bill.js';
import { deliveryId } from '../domain/event-id.js';
import type { NewEvent, Settlement } from '../domain/settlement.js';
import { DeliveryWorker } from '../events/delivery.worker.js';
import {
  DeliveryStore,
  type ClaimedDelivery,
  type DeliveryQueue,
  type ReservedDelivery,
} from '../events/storage/delivery.store.js';
import { CheckStore } from './storage/check.store.js';
import { SettlementStore, type AddedEvent } from './storage/settlement.store.js';

/** Each log line says how many were left out before it. */
const UNCONSUMED_LOG_INTERVAL_MS = 60_000;

/** How long a success that no consumer hears of counts as a reason of health. */
const UNCONSUMED_MEMORY_MS = 3_600_000;

/** The events by id; `isWaiting` says whether deliveries of the event wait to be claimed. */
export type NewEvents = ReadonlyMap<string, Omit<AddedEvent, 'claimed'> & { readonly isWaiting: boolean }>;

/** Called once, as the last step of a transaction. */
export type WriteSettlements = (settlements: readonly Settlement[]) => Promise<NewEvents>;

/** Each transaction writes what was decided, with its events and deliveries, some of which are created as claimed. */
@Injectable()
export class SettlementTransactions {
  private readonly logger = new PaymentLogger('PaymentSettlement');
  private readonly unconsumed: RateLimitedLog;
  /** When a payment last succeeded that no consumer hears of. */
  private unconsumedAt = -Infinity;

  constructor(
    private readonly store: SettlementStore,
    private readonly checks: CheckStore,
    private readonly deliveries: DeliveryStore,
    private readonly deliverer: DeliveryWorker,
    private readonly clock: PaymentClock,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {
    this.unconsumed = new RateLimitedLog(this.logger, clock, UNCONSUMED_LOG_INTERVAL_MS);
  }

  /** Whether a payment has succeeded here within the last hour that no consumer hears of. */
  get hasUnconsumed(): boolean {
    return this.clock.elapsed() - this.unconsumedAt < UNCONSUMED_MEMORY_MS;
  }

  /**
   * After the commit, begins the deliveries that were created as claimed, and frees those that were queued behind
   * others that have ended meanwhile.
   * @param readsFirst see `Database.transaction`
   */
  async run<T>(work: (tx: OwnTransaction, write: WriteSettlements) => Promise<T>, readsFirst: boolean): Promise<T> {
    let reserved: readonly ReservedDelivery[] = [];
    let writeResult = NOTHING_WRITTEN;
    const release = (): void => {
      reserved.forEach((place) => this.deliverer.release(place));
      reserved = [];
    };
    const reserve: ReserveDeliveries = (events) => {
      const reservation = this.deliverer.reserve(events);
      reserved = reservation.deliveries;
      return reservation;
    };
    let value: T;
    try {
      value = await this.store.transaction((tx) => {
        // Gives back the places that an earlier attempt has reserved.
        release();
        writeResult = NOTHING_WRITTEN;
        return work(tx, async (settlements) => {
          writeResult = await this.write(tx, settlements, reserve);
          return writeResult.added;
        });
      }, readsFirst);
    } catch (error) {
      release();
      throw error;
    }
    if (writeResult.hasUnconsumed) this.unconsumedAt = this.clock.elapsed();
    await this.begin(writeResult, reserved);
    return value;
  }

  private async begin({ waiting, claimed }: WriteResult, reserved: readonly ReservedDelivery[]): Promise<void> {
    const isBegun = ({ eventId, consumer }: ReservedDelivery): boolean =>
      claimed.some((delivery) => delivery.eventId === eventId && delivery.consumer === consumer);
    for (const place of reserved) if (!isBegun(place)) this.deliverer.release(place);
    await Promise.all(claimed.map((delivery) => this.deliverer.adopt(delivery)));
    if (waiting.length > 0) {
      await this.deliveries.free(waiting, []).catch((error: unknown) => {
        const what = 'Could not free new deliveries that are queued behind others; retrying within a minute.';
        this.logger.write('deliveries-not-freed', `${what} ${describeError(error)}`, { error: errorType(error) });
      });
    }
  }

  private async write(
    tx: OwnTransaction,
    settlements: readonly Settlement[],
    reserve: ReserveDeliveries,
  ): Promise<WriteResult> {
    if (settlements.length === 0) return NOTHING_WRITTEN;
    const postponed = settlements.flatMap(({ hints }) => hints.postponed);
    await this.checks.answerHints({ consumed: [], postponed }, tx);
    const reservation = reserve(
      settlements.flatMap(({ bill: { shop }, events }) => events.map(({ id, name }) => ({ id, name, shop }))),
    );
    const addedEvents = await this.store.write(tx, settlements, this.options.schedule.minGapMs, reservation);
    const redacted = settlements.flatMap(({ bill }) => (bill.redacted ? bill.intentId : []));
    if (redacted.length > 0) await this.store.redactCallbacks(tx, redacted);
    const added = new Map(
      addedEvents.map(({ claimed, ...event }) => [
        event.id,
        { ...event, isWaiting: event.deliveries > claimed.length },
      ]),
    );
    const sources = new Map(
      settlements.flatMap((settlement) => settlement.events.map((event) => [event.id, { settlement, event }] as const)),
    );
    const claimed = addedEvents.flatMap(({ id, claimed: rows }) => {
      const source = sources.get(id);
      return source ? rows.map((row) => toClaimedDelivery(source, { ...row, token: reservation.token })) : [];
    });
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
    return { added, waiting, claimed, hasUnconsumed };
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

type ReserveDeliveries = DeliveryWorker['reserve'];

interface WriteResult {
  readonly added: NewEvents;
  /** The queues in which a new delivery waits behind another one. */
  readonly waiting: readonly DeliveryQueue[];
  readonly claimed: readonly (ClaimedDelivery & { readonly eventId: string })[];
  /** Whether a `payment.succeeded` has no consumer. */
  readonly hasUnconsumed: boolean;
}

const NOTHING_WRITTEN: WriteResult = { added: new Map(), waiting: [], claimed: [], hasUnconsumed: false };

function toClaimedDelivery(
  { settlement, event }: { readonly settlement: Settlement; readonly event: NewEvent },
  { id, consumer, token }: { readonly id: string; readonly consumer: string; readonly token: string },
): ClaimedDelivery & { readonly eventId: string } {
  const { bill, change, assertedAt, traceparent } = settlement;
  const { id: eventId, name, payload } = event;
  return {
    ...{ id, eventId, consumer, token, assertedAt, traceparent },
    deliveryId: deliveryId(eventId, consumer),
    intentId: bill.intentId,
    eventName: name,
    shop: bill.shop,
    attempt: 1,
    isReplay: false,
    orderWasMissing: false,
    payload: JSON.stringify(payload),
    late: false,
    billState: change?.state ?? bill.state,
  };
}
