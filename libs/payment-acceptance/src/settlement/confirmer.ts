import { Inject, Injectable } from '@nestjs/common';
import { BillService } from '../bills/bill.service.js';
import { PaymentTooManyPaymentsError } from '../client/service.errors.js';
import { backoff } from '../common/retry.js';
import { GroupCommitTimeoutError } from '../common/group-commit.js';
import { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import { LeasedWorker, WorkingService, type ClaimResult, type LeasedWork } from '../common/leased-worker.js';
import { Throttle } from '../common/throttle.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { PaymentRandom } from '../common/random.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import type { ClaimedBill } from '../domain/claim.js';
import { scheduleAfterFailure } from '../domain/schedule.js';
import { CallbackStore } from '../callbacks/storage/callback.store.js';
import { CheckStore } from './storage/check.store.js';
import { PROBE_MS } from './storage/shop.store.js';
import { Telemetry, type ActiveSpan } from '../telemetry/telemetry.js';
import { BillChecks } from './bill-checks.js';
import { CheckClaims } from './check-claims.js';
import { isWithoutAnswer } from './check-errors.js';
import { CheckRequests, retryAfter } from '../client/check-requests.js';
import { fieldsOf, SettlementService } from './settlement.service.js';

const HOUSEKEEPING_MS = 30_000;
/**
 * How often to search for postbacks that a crash left unlinked to their bill. Seldom is enough: the schedule checks the
 * bill anyway.
 */
const LINK_INTERVAL_MS = 600_000;

/**
 * Asks the service for the payments of each due bill and settles the answer. Holds a lease, never a lock, while it
 * waits for the network.
 */
@Injectable()
export class Confirmer extends WorkingService<ClaimedBill> implements LeasedWork<ClaimedBill> {
  private readonly logger = new PaymentLogger('PaymentChecks');
  protected readonly worker: LeasedWorker<ClaimedBill>;
  private readonly housekeeping: Throttle;
  private readonly linking: Throttle;
  /** How many callbacks have been announced, and how many had been when the claim of a bill began. */
  private hints = 0;
  private readonly hintsAtClaim = new WeakMap<ClaimedBill, number>();

  constructor(
    private readonly claims: CheckClaims,
    private readonly checks: CheckStore,
    private readonly billChecks: BillChecks,
    private readonly settlement: SettlementService,
    private readonly bills: BillService,
    private readonly callbacks: CallbackStore,
    private readonly requests: CheckRequests,
    private readonly random: PaymentRandom,
    clock: PaymentClock,
    private readonly telemetry: Telemetry,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {
    super();
    const { pollMs, shutdownTimeoutMs } = options;
    const { concurrency } = options.checks;
    this.worker = new LeasedWorker(this, { concurrency, pollMs, shutdownTimeoutMs }, this.logger);
    this.housekeeping = new Throttle(clock, HOUSEKEEPING_MS);
    this.linking = new Throttle(clock, LINK_INTERVAL_MS);
  }

  /** Call it when a callback was stored. A bill that is being checked can be claimed only when its check has ended. */
  override wake(): void {
    if (this.worker.isStopped) return;
    this.hints += 1;
    this.worker.wake();
  }

  /** Closes abandoned creations and expired callbacks. */
  async maintain(): Promise<void> {
    if (!this.housekeeping.tryTake()) return;
    await this.bills.closeAbandoned();
    await this.callbacks.retireWaiting();
    if (this.linking.tryTake()) await this.callbacks.linkForgotten();
  }

  async claim(limit: number): Promise<ClaimResult<ClaimedBill>> {
    const { hints } = this;
    const claimed = await this.claims.claim(limit);
    for (const item of claimed.items) this.hintsAtClaim.set(item, hints);
    return claimed;
  }

  async process(claim: ClaimedBill, stopping: AbortSignal): Promise<boolean> {
    const attributes = {
      'payment.shop': claim.shop,
      'payment.order_id': claim.orderId,
      'payment.bill_id': claim.billId,
      'payment.check.hints': claim.hints.length,
    };
    const isOver = await this.telemetry
      .span('payment.check', { attributes, parent: claim.traceparent }, async (span) => {
        const end = await this.check(claim, stopping, span);
        span.set({ 'payment.outcome': end.outcome });
        return end.isOver;
      })
      .finally(() => this.requests.release(claim.shop));
    // A callback that came meanwhile may be about this bill.
    return !isOver || this.hints !== this.hintsAtClaim.get(claim);
  }

  readonly fieldsOf = fieldsOf;

  /**
   * The outcome is `settled`, `unchanged`, `stale`, `released`, or the error's code. The check is over if nothing is
   * left to do.
   */
  private async check(
    claim: ClaimedBill,
    stopping: AbortSignal,
    span: ActiveSpan,
  ): Promise<{ readonly outcome: string; readonly isOver: boolean }> {
    try {
      const { outcome, settled } = await this.billChecks.run(claim, stopping);
      return { outcome, isOver: !settled.stale && settled.hintsLeft === 0 };
    } catch (error) {
      return { outcome: await this.endUnanswered(claim, stopping, span, error), isOver: false };
    }
  }

  private async endUnanswered(
    claim: ClaimedBill,
    stopping: AbortSignal,
    span: ActiveSpan,
    error: unknown,
  ): Promise<string> {
    if (error instanceof GroupCommitTimeoutError) {
      const what = `The settlement of bill ${claim.billId} of shop "${claim.shop}" timed out`;
      const line = `${what}; the bill will be checked again when its lease expires. ${error.message}`;
      this.logger.write('settlement-timed-out', line, { ...fieldsOf(claim), error: errorType(error) });
      return errorType(error);
    }
    if (stopping.aborted) {
      await this.checks.releaseLease(claim);
      return 'released';
    }
    span.fail(error);
    if (!(error instanceof PaymentTooManyPaymentsError)) await this.postpone(claim, error);
    return errorType(error);
  }

  private async postpone(claim: ClaimedBill, error: unknown): Promise<void> {
    const reason = describeError(error);
    const refused = await this.billChecks.refusedShops.recordFailure(error, claim, reason);
    const { retryBaseMs, retryCapMs } = this.options.schedule;
    const pause = backoff(claim.failedChecks, retryBaseMs, retryCapMs, this.random.fraction());
    // Longer than the probe interval, so that the next probe checks another bill, if there is one.
    const pauseMs = refused === 'shop' ? 2 * PROBE_MS : Math.max(retryAfter(error), pause);
    const { nextCheckAt, review, giveUp } = scheduleAfterFailure(
      claim,
      pauseMs,
      refused === 'bill',
      this.options.schedule,
    );
    const what = `Bill ${claim.billId} of shop "${claim.shop}" could not be checked`;
    this.logger.write(
      giveUp ? 'check-given-up' : 'check-failed',
      `${what}; ${giveUp ? 'it will not be checked again' : `the check will be retried after at least ${pauseMs} ms`}. ${reason}`,
      { ...fieldsOf(claim), ...(!giveUp && { againInMs: pauseMs }), error: errorType(error) },
    );
    if (isWithoutAnswer(error)) this.requests.notePostponed(claim);
    if (review) await this.settlement.reviewUncheckable(claim);
    // Behind the other due bills of its refused shop, so that each of them is the probe in turn.
    const probeAt = claim.scheduled ? new Date(claim.now.getTime() + pauseMs) : undefined;
    const place = refused === 'shop' ? probeAt : nextCheckAt;
    if ((await this.checks.fail(claim, pauseMs, place, reason)) && giveUp) {
      const consumed = claim.hints.map(({ id, asserts }) => ({
        id,
        outcome: asserts && ('unconfirmed' as const),
      }));
      await this.checks.answerHints({ consumed, postponed: [] });
    }
  }
}
