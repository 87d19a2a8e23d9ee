import { Inject, Injectable } from '@nestjs/common';
import { PaymentServiceClient } from '../client/payment-service.client.js';
import { TooManyPaymentsError } from '../client/service.errors.js';
import { GroupCommitTimeoutError } from '../common/group-commit.js';
import { WakeUps } from '../common/wake-ups.js';
import { PaymentRandom } from '../common/random.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import type { BillState } from '../domain/bill.js';
import type { ClaimedBill } from '../domain/claim.js';
import type { PaymentList, ReportedPayment } from '../domain/payment.js';
import { SettlementService, type Settled } from '../settlement/settlement.service.js';
import { CheckStore } from '../storage/check.store.js';
import { OperatorActionError } from './operator.errors.js';
import type { BillId, IntentId, OrderId } from '../domain/ids.js';

/** What one check out of turn came to. */
export interface BillCheck {
  readonly shop: string;
  readonly orderId: OrderId;
  /** The service's `bill_id`. */
  readonly billId: BillId;
  /** Id of our bill. */
  readonly intentId: IntentId;
  readonly stateBefore: BillState;
  readonly stateAfter: BillState;
  /** What the service lists now (section 4.2). */
  readonly payments: readonly ReportedPayment[];
  /** Names of the events that it has made. Their consumers take them as always. */
  readonly events: readonly string[];
}

/** The checks of one shop's bills. */
export interface ShopChecks {
  /** As {@link PaymentChecks.check}; a bill of another shop is as if it were not there. */
  check(bill: string): Promise<BillCheck>;
}

/** Checks of single bills, at once and for a person who waits for the answer. */
@Injectable()
export class PaymentChecks {
  /** @internal */
  constructor(
    private readonly checks: CheckStore,
    private readonly client: PaymentServiceClient,
    private readonly settlement: SettlementService,
    private readonly wakeUps: WakeUps,
    private readonly shops: ShopRegistry,
    private readonly random: PaymentRandom,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /**
   * The same of one shop, for an operator who is in charge of that one only.
   * @throws UnknownShopError
   */
  forShop(name: string): ShopChecks {
    const shop = this.shops.named(name);
    return { check: (bill) => this.check(bill, shop) };
  }

  /**
   * Asks the service about a bill now and settles the answer, as a check on the schedule does. Where the service gives
   * none, the bill keeps its place in the schedule.
   * @param bill the service's `bill_id`, or the id of our bill
   * @param shop name of its shop; the default shop where absent
   * @throws OperatorActionError where the shop has no such bill, or another check of it is under way
   * @throws PaymentServiceError where the service gives no answer
   * @throws UnknownShopError
   */
  async check(bill: string, shop: string = this.shops.defaultName): Promise<BillCheck> {
    const of = await this.shops.get(shop);
    // The request may be made several times, and with each token.
    const { leaseMs } = this.options.creation;
    const claim = await this.checks.claimOne(of.name, bill, this.random.uuid(), leaseMs);
    if (claim === 'unknown') throw new OperatorActionError(`Shop "${of.name}" has no bill ${bill.slice(0, 128)}.`);
    if (claim === 'busy')
      throw new OperatorActionError('Another check of the bill is under way. Ask again in a moment.');
    const { shop: name, orderId, billId, intentId, state: stateBefore } = claim;
    const checked = { shop: name, orderId, billId, intentId, stateBefore };
    let list: PaymentList;
    let settled: Settled;
    try {
      list = await this.client.readPaymentList(of, claim.billId);
      if (claim.shopRefused) await this.checks.acceptShop(of.name);
      settled = await this.settlement.settle(claim, list);
    } catch (error) {
      await this.giveBack(claim, error);
      throw error;
    }
    if (settled.stale) throw new OperatorActionError('Another check has taken the bill over. Ask again in a moment.');
    if (settled.events.length > 0) this.wakeUps.tell('event');
    const { payments } = list;
    return { ...checked, stateAfter: settled.state, payments, events: settled.events.map(({ name: event }) => event) };
  }

  /** So that the bill can be asked about again at once, and not only when the lease is over. */
  private async giveBack(claim: ClaimedBill, error: unknown): Promise<void> {
    // It may still commit, and holds the bill's lock: whatever was written of the bill here would wait, too.
    if (error instanceof GroupCommitTimeoutError) return;
    try {
      if (error instanceof TooManyPaymentsError) await this.settlement.reviewUnlistable(claim);
    } finally {
      // Nothing where the claim ended with what was settled.
      await this.checks.release(claim);
    }
  }
}
