import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { ReportedPayment } from '../common/payment.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { BillStore } from '../storage/bill.store.js';
import { CheckStore, type ClaimedBill } from '../storage/check.store.js';
import { SettlementStore, type LedgerPayment, type LockedBill, type NewEvent } from '../storage/settlement.store.js';
import { PaymentMetrics } from '../telemetry/payment-metrics.js';
import { Telemetry } from '../telemetry/telemetry.js';
import { PaymentRandom } from '../common/random.js';
import { answerHints } from './hints.js';
import { decide, decideUnlistable, type Decision } from './decide.js';
import { defaultJudge } from './judge.js';
import { endOfLife, nextCheck } from './schedule.js';

/** What a settlement came to; `stale` where a later claim had taken the bill over, and nothing was written. */
export type Settled =
  | { readonly stale: true; readonly events: readonly never[] }
  | ({ readonly stale: false } & Pick<Decision, 'state' | 'events'>);

/**
 * The only writer of payments, results and events. One transaction: order, bill, payments, events with their
 * deliveries, reviews, bill state, hints. Either all of it commits or none.
 */
@Injectable()
export class SettlementService {
  private readonly logger = new PaymentLogger('PaymentSettlement');

  constructor(
    private readonly store: SettlementStore,
    private readonly bills: BillStore,
    private readonly checks: CheckStore,
    private readonly random: PaymentRandom,
    private readonly telemetry: Telemetry,
    private readonly metrics: PaymentMetrics,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /** Settles the service's list of a claimed bill's payments, unless the claim's token has been replaced since. */
  settle(claim: ClaimedBill, listed: readonly ReportedPayment[]): Promise<Settled> {
    const { schedule, judge = defaultJudge } = this.options;
    return this.locked(claim, async (manager, bill, firstPaymentId) => {
      const ids = listed.map(({ paymentId }) => paymentId);
      const known = await this.store.payments(manager, bill, ids);
      const end = endOfLife(bill, schedule);
      const horizon = end + schedule.expiredForMs - 2 * schedule.expiredEveryMs;
      return decide({ bill, firstPaymentId, known, listed, judge, endOfLife: end, horizon });
    });
  }

  /** Opens a review of a bill whose payments the service refuses to list (section 8.2). */
  reviewUnlistable(claim: ClaimedBill): Promise<Settled> {
    return this.locked(claim, (_manager, bill) => Promise.resolve(decideUnlistable(bill, 'too-many-payments')));
  }

  /** Opens a review of a bill that could not be checked until its time was over. The check itself stays failed. */
  async reviewUncheckable(claim: ClaimedBill): Promise<void> {
    await this.traced(claim, async (manager) => {
      await this.bills.lockOrder(manager, claim.shop, claim.orderId);
      const bill = await this.store.lockBill(manager, claim.id, claim.token);
      if (!bill) return { events: [] };
      const decided = decideUnlistable(bill, 'uncheckable');
      await this.writeFacts(manager, bill, decided);
      return decided;
    });
  }

  /**
   * Writes what an operator decides about a bill, under the same locks; `undefined` writes nothing of the ledger. A check
   * that is under way comes back stale and is made again.
   */
  async settleByOperator(
    at: { readonly shop: string; readonly orderId: string; readonly billId: string },
    decision: (
      manager: EntityManager,
      bill: LockedBill,
      firstPaymentId: string | null,
    ) => Promise<Decision | undefined>,
  ): Promise<void> {
    await this.traced(at, async (manager) => {
      const { firstPaymentId } = await this.bills.lockOrder(manager, at.shop, at.orderId);
      const bill = await this.store.lockBill(manager, at.billId);
      if (!bill) throw new Error(`The bill ${at.billId} of a review is not there.`);
      const decided = await decision(manager, bill, firstPaymentId);
      if (!decided) return { events: [] };
      await this.writeFacts(manager, bill, decided);
      await this.finishCheck(manager, bill, decided.state, false);
      return decided;
    });
  }

  /** The ledger's payments of a bill, and of these ids under whatever bill. */
  payments(manager: EntityManager, bill: LockedBill, paymentIds: readonly string[]): Promise<LedgerPayment[]> {
    return this.store.payments(manager, bill, paymentIds);
  }

  /** Locks order, then bill; decides under the locks; writes all of the decision. */
  private locked(
    claim: ClaimedBill,
    decision: (manager: EntityManager, bill: LockedBill, firstPaymentId: string | null) => Promise<Decision>,
  ): Promise<Settled> {
    return this.traced(claim, async (manager) => {
      const { firstPaymentId } = await this.bills.lockOrder(manager, claim.shop, claim.orderId);
      const bill = await this.store.lockBill(manager, claim.id, claim.token);
      if (!bill) return { stale: true, events: [] };
      const decided = await decision(manager, bill, firstPaymentId);
      await this.write(manager, claim, bill, decided);
      return { stale: false, state: decided.state, events: decided.events };
    });
  }

  /** One transaction, in a span that the events it makes go on from; counts them once they are committed. */
  private async traced<T extends Pick<Decision, 'events'>>(
    at: { readonly shop: string; readonly orderId: string },
    work: (manager: EntityManager) => Promise<T>,
  ): Promise<T> {
    const attributes = { 'payment.shop': at.shop, 'payment.order_id': at.orderId };
    return this.telemetry.span('payment.settle', { attributes }, async (span) => {
      const done = await this.store.transaction(work);
      span.set({ 'payment.events': done.events.length });
      for (const { name } of done.events) this.metrics.settlement(at.shop, name);
      return done;
    });
  }

  private async write(manager: EntityManager, claim: ClaimedBill, bill: LockedBill, decision: Decision): Promise<void> {
    await this.writeFacts(manager, bill, decision);
    await this.finishCheck(manager, bill, decision.state, claim.scheduled);
    const claimed = claim.hints.some(({ claims }) => claims !== null);
    const payments = claimed ? await this.checks.claimable(bill.id, manager) : [];
    await this.checks.answerHints(answerHints(claim.hints, payments, this.options.schedule.lagMs), manager);
  }

  private finishCheck(manager: EntityManager, bill: LockedBill, state: LockedBill['state'], scheduled: boolean) {
    const { schedule } = this.options;
    const nextCheckAt = nextCheck(bill, state, scheduled, schedule, this.random.fraction());
    return this.store.finishCheck(manager, bill, { state, nextCheckAt, scheduled, minGapMs: schedule.minGapMs });
  }

  private async writeFacts(manager: EntityManager, bill: LockedBill, decision: Decision): Promise<void> {
    for (const payment of decision.payments) await this.store.writePayment(manager, bill.shop, payment);
    if (decision.firstPaymentId !== null) await this.store.markOrderPaid(manager, bill, decision.firstPaymentId);
    for (const review of decision.reviews) await this.store.addReview(manager, bill, review);
    for (const event of decision.events) await this.addEvent(manager, bill, event);
  }

  private async addEvent(manager: EntityManager, bill: LockedBill, event: NewEvent): Promise<void> {
    const deliveries = await this.store.addEvent(manager, bill, event, this.telemetry.traceparent);
    if (deliveries === 0) {
      this.logger.warn(
        `No consumer takes ${event.name} of shop "${bill.shop}": event ${event.id} is kept, nobody is told. ` +
          `Add a handler with @OnPaymentEvent('${event.name}', { consumer: … }).`,
        { shop: bill.shop, orderId: bill.orderId, billId: bill.billId, event: event.name, eventId: event.id },
      );
    }
  }
}
