import { Injectable } from '@nestjs/common';
import { CheckRequests } from '../client/check-requests.js';
import { PaymentTooManyPaymentsError } from '../client/service.errors.js';
import { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import { GroupCommitTimeoutError } from '../common/group-commit.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { WakeUps } from '../common/wake-ups.js';
import { ShopRegistry } from '../config/shop-registry.js';
import type { ClaimedBill } from '../domain/claim.js';
import type { PaymentList, ReportedPayment } from '../domain/payment.js';
import { PaymentMetrics } from '../telemetry/payment-metrics.js';
import { provesShopIsAccepted } from './check-errors.js';
import { ShopIdentities } from './shop-identities.js';
import { RefusedShops } from './refused-shops.js';
import { fieldsOf, SettlementService, type SettlementResult } from './settlement.service.js';
import { CheckStore } from './storage/check.store.js';
import { ShopStore } from './storage/shop.store.js';
import { firstAssertion } from '../domain/hints.js';
import type { NewEvent } from '../domain/settlement.js';

export interface CheckedBill {
  readonly listed: PaymentList;
  readonly settled: SettlementResult;
  readonly outcome: 'settled' | 'unchanged' | 'stale';
}

/**
 * Asks the service about a claimed bill, and settles its answer. Scheduled checks and those that a person requests work
 * the same way.
 */
@Injectable()
export class BillChecks {
  private readonly logger = new PaymentLogger('PaymentChecks');
  readonly refusedShops = new RefusedShops(this.rows, this.logger);

  constructor(
    private readonly rows: ShopStore,
    private readonly checks: CheckStore,
    private readonly settlement: SettlementService,
    private readonly requests: CheckRequests,
    private readonly shops: ShopRegistry,
    private readonly identities: ShopIdentities,
    private readonly clock: PaymentClock,
    private readonly metrics: PaymentMetrics,
    private readonly wakeUps: WakeUps,
  ) {}

  /**
   * Asks once, within the shop's limits; the caller has taken a slot and gives it back afterwards.
   * @throws PaymentServiceError, GroupCommitTimeoutError, and what the database or the host's judge throws. The caller
   *   must then end the claim, unless the service has too many payments of the bill to list any: then a review has been
   *   opened and the claim has ended.
   */
  async run(claim: ClaimedBill, signal: AbortSignal): Promise<CheckedBill> {
    let outcome = 'released';
    try {
      const checked = await this.check(claim, signal);
      outcome = checked.outcome;
      return checked;
    } catch (error) {
      // The settlement may still commit, and holds the bill's lock: another write to the bill would wait for it.
      const isOpen = error instanceof GroupCommitTimeoutError;
      if (isOpen || !signal.aborted) outcome = errorType(error);
      if (!isOpen && !signal.aborted) {
        if (provesShopIsAccepted(error)) await this.refusedShops.accept(claim);
        if (error instanceof PaymentTooManyPaymentsError) await this.settlement.reviewUnlistable(claim);
      }
      throw error;
    } finally {
      this.metrics.check(claim.shop, outcome);
    }
  }

  private async check(claim: ClaimedBill, signal: AbortSignal): Promise<CheckedBill> {
    const shop = await this.shops.get(claim.shop);
    await this.identities.bind(shop);
    const listed = await this.requests.read(shop, claim, signal);
    await this.refusedShops.accept(claim);
    await this.retryNow(claim.shop);
    const settled = await this.settlement.settle(claim, listed);
    if (listed.problems.length > 0) {
      const line =
        `Cannot read every payment of bill ${claim.billId} of shop "${claim.shop}" that the service lists: ` +
        `${listed.problems.slice(0, 5).join(', ')}. The others are settled, and a review is open.`;
      this.logger.write('payments-unreadable', line, fieldsOf(claim));
    }
    if (settled.stale) {
      const line = `A later check of bill ${claim.billId} made this answer stale.`;
      this.logger.write('check-stale', line, fieldsOf(claim));
      return { listed, settled, outcome: 'stale' };
    }
    if (settled.events.length === 0) return { listed, settled, outcome: 'unchanged' };
    recordLags(this.metrics, claim, listed.payments, settled.events, this.clock.now());
    return { listed, settled, outcome: 'settled' };
  }

  /** The service of the shop is back: bills postponed during the outage need not wait for their backoff. */
  private async retryNow(shop: string): Promise<void> {
    const bills = this.requests.takePostponed(shop);
    if (bills.length === 0) return;
    try {
      await this.checks.retryNow(bills);
      this.wakeUps.notify('hint');
    } catch (error) {
      const line = `Could not check the postponed bills of shop "${shop}"; they wait until their pause ends. ${describeError(error)}`;
      this.logger.write('checks-not-retried', line, { shop, error: errorType(error) });
    }
  }
}

/** Records how long ago the settled outcomes became known to the service, and were first asserted by a callback. */
function recordLags(
  metrics: PaymentMetrics,
  claim: ClaimedBill,
  listed: readonly ReportedPayment[],
  events: readonly NewEvent[],
  now: Date,
): void {
  const outcomes = events.filter(({ name }) => name === 'payment.succeeded' || name === 'payment.failed');
  if (outcomes.length === 0) return;
  const createdAts = new Map<unknown, Date | null>(listed.map(({ paymentId, createdAt }) => [paymentId, createdAt]));
  for (const { payload } of outcomes) {
    const createdAt = createdAts.get((payload as { paymentId?: unknown }).paymentId);
    if (createdAt) metrics.lagOfPayment(claim.shop, now.getTime() - createdAt.getTime());
  }
  const assertedAt = firstAssertion(claim.hints);
  if (assertedAt) metrics.recordCallbackLag(claim.shop, now.getTime() - assertedAt.getTime());
}
