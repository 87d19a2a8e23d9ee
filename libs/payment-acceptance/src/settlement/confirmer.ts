import { Inject, Injectable, Logger } from '@nestjs/common';
import { BillService } from '../bills/bill.service.js';
import { PaymentServiceClient } from '../client/payment-service.client.js';
import { ServiceUnavailableError, TooManyPaymentsError } from '../client/service.errors.js';
import { backoff } from '../common/backoff.js';
import { describeError } from '../common/errors.js';
import { LeasedWorker, type LeasedWork } from '../common/leased-worker.js';
import type { ReportedPayment } from '../common/payment.js';
import { PaymentRandom } from '../common/random.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { CallbackStore } from '../storage/callback.store.js';
import { SettlementStore, type ClaimedBill } from '../storage/settlement.store.js';
import { afterFailure } from './schedule.js';
import { SettlementService } from './settlement.service.js';

/** How long a postback waits for a bill that it names and we do not know. */
const UNMATCHED_MS = 24 * 3_600_000;

/**
 * Finds out the truth: asks the service for the payments of each due bill and settles the answer. Holds a lease, never
 * a lock, while it waits for the network.
 */
@Injectable()
export class Confirmer implements LeasedWork<ClaimedBill> {
  private readonly logger = new Logger('PaymentConfirmer');
  private readonly worker: LeasedWorker<ClaimedBill>;
  /** Called after a settlement that made events, so that they need not wait for a poll. */
  onEvents: (() => void) | undefined;

  constructor(
    private readonly store: SettlementStore,
    private readonly settlement: SettlementService,
    private readonly bills: BillService,
    private readonly callbacks: CallbackStore,
    private readonly client: PaymentServiceClient,
    private readonly shops: ShopRegistry,
    private readonly random: PaymentRandom,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {
    this.worker = new LeasedWorker(this, options.confirmer, this.logger);
  }

  /** Checks the bills that are due now; resolves with their number when all are settled or put off. */
  runOnce(): Promise<number> {
    return this.worker.runOnce();
  }

  start(): void {
    this.worker.start();
  }

  wake(): void {
    this.worker.wake();
  }

  /** Ends requests in flight and gives their bills back. */
  stop(): Promise<void> {
    return this.worker.stop();
  }

  async claim(limit: number): Promise<ClaimedBill[]> {
    await this.bills.closeAbandoned();
    await this.callbacks.retireUnmatched(UNMATCHED_MS);
    return this.store.claim(limit, this.options.confirmer.leaseMs, this.random.uuid());
  }

  async process(claim: ClaimedBill, stopping: AbortSignal): Promise<void> {
    const shop = this.shops.find(claim.shop);
    if (!shop) return this.putOff(claim, 0, `There is no shop "${claim.shop}" in the options any more.`);
    let listed: ReportedPayment[];
    try {
      // One try: the schedule is the retry, and no lease may run out while a pause passes.
      listed = await this.client.listPayments(shop, claim.billId, { signal: stopping, attempts: 1 });
    } catch (error) {
      if (stopping.aborted) return this.store.release(claim);
      if (!(error instanceof TooManyPaymentsError)) return this.putOff(claim, retryAfter(error), describeError(error));
      await this.settlement.reviewUnlistable(claim);
      return;
    }
    try {
      const settled = await this.settlement.settle(claim, listed);
      if (settled.stale) this.logger.debug(`A later check of bill ${claim.billId} made this answer stale.`);
      else if (settled.events.length > 0) this.onEvents?.();
    } catch (error) {
      await this.putOff(claim, 0, describeError(error));
    }
  }

  private async putOff(claim: ClaimedBill, leastMs: number, reason: string): Promise<void> {
    const { retryBaseMs, retryCapMs } = this.options.schedule;
    const pauseMs = Math.max(leastMs, backoff(claim.failedChecks, retryBaseMs, retryCapMs, this.random.fraction()));
    const { nextCheckAt, review, giveUp } = afterFailure(claim, pauseMs, this.options.schedule);
    this.logger.warn(`Bill ${claim.billId} of shop "${claim.shop}" is checked again in ${pauseMs} ms. ${reason}`);
    if (review) await this.settlement.reviewUncheckable(claim);
    await this.store.failCheck(claim, pauseMs, nextCheckAt, reason);
    if (giveUp) await this.store.consumeHints(claim.hints);
  }
}

/** What the service asked for, up to an hour; 0 where it asked for nothing. */
function retryAfter(error: unknown): number {
  return error instanceof ServiceUnavailableError ? Math.min(error.retryAfterMs ?? 0, 3_600_000) : 0;
}
