import { Inject, Injectable } from '@nestjs/common';
import { PaymentServiceClient } from '../client/payment-service.client.js';
import { PaymentTooManyPaymentsError } from '../client/service.errors.js';
import { GroupCommitTimeoutError } from '../common/group-commit.js';
import { WakeUps } from '../common/wake-ups.js';
import { PaymentRandom } from '../common/random.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import type { BillState } from '../domain/bill.js';
import type { ClaimedBill } from '../domain/claim.js';
import type { PaymentList, ReportedPayment } from '../domain/payment.js';
import { SettlementService, type Settled } from '../settlement/settlement.service.js';
import { CheckStore } from '../settlement/storage/check.store.js';
import { ShopStore } from '../settlement/storage/shop.store.js';
import { PaymentOperatorActionError } from './operator.errors.js';
import type { BillId, IntentId, OrderId } from '../domain/ids.js';

/** Result of a check that an operator asked for. */
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
  /** Names of the events that the check created. They are delivered as usual. */
  readonly events: readonly string[];
}

/** The checks of one shop's bills. */
export interface ShopChecks {
  /** As {@link PaymentChecks.check}, for bills of that shop only. */
  check(bill: string): Promise<BillCheck>;
}

/** Checks single bills at once, for a person who waits for the answer. */
@Injectable()
export class PaymentChecks {
  /** @internal */
  constructor(
    private readonly checks: CheckStore,
    private readonly rows: ShopStore,
    private readonly client: PaymentServiceClient,
    private readonly settlement: SettlementService,
    private readonly wakeUps: WakeUps,
    private readonly shops: ShopRegistry,
    private readonly random: PaymentRandom,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /**
   * The same for one shop, for an operator who may act for that shop only.
   * @throws PaymentUnknownShopError
   */
  forShop(name: string): ShopChecks {
    const shop = this.shops.named(name);
    return { check: (bill) => this.check(bill, shop) };
  }

  /**
   * Asks the service about a bill now and settles the answer, like a scheduled check. If the service does not answer, the
   * bill keeps its place in the schedule.
   * @param bill the service's `bill_id`, or the id of our bill
   * @param shop name of the bill's shop; the default shop if omitted
   * @throws PaymentOperatorActionError if the shop has no such bill, or another check of it is running
   * @throws PaymentServiceError if the service does not answer
   * @throws PaymentUnknownShopError
   */
  async check(bill: string, shop: string = this.shops.defaultName): Promise<BillCheck> {
    const of = await this.shops.get(shop);
    // The request may be retried, and repeated with each token.
    const { leaseMs } = this.options.creation;
    const claim = await this.checks.claimOne(of.name, bill, this.random.uuid(), leaseMs);
    if (claim === 'unknown')
      throw new PaymentOperatorActionError(`Shop "${of.name}" has no bill ${bill.slice(0, 128)}.`, 'not-found');
    if (claim === 'busy')
      throw new PaymentOperatorActionError('Another check of the bill is under way. Ask again in a moment.', 'busy');
    const { shop: name, orderId, billId, intentId, state: stateBefore } = claim;
    const checked = { shop: name, orderId, billId, intentId, stateBefore };
    let list: PaymentList;
    let settled: Settled;
    try {
      list = await this.client.readPaymentList(of, claim.billId);
      if (claim.shopRefused) await this.rows.accept(of.name);
      settled = await this.settlement.settle(claim, list);
    } catch (error) {
      await this.giveBack(claim, error);
      throw error;
    }
    if (settled.stale)
      throw new PaymentOperatorActionError('Another check has taken the bill over. Ask again in a moment.', 'busy');
    if (settled.events.length > 0) this.wakeUps.tell('event');
    const { payments } = list;
    return { ...checked, stateAfter: settled.state, payments, events: settled.events.map(({ name: event }) => event) };
  }

  /** Releases the lease, so that the bill can be checked again before the lease expires. */
  private async giveBack(claim: ClaimedBill, error: unknown): Promise<void> {
    // The transaction may still commit and holds the bill's lock: a write to the bill here would block.
    if (error instanceof GroupCommitTimeoutError) return;
    try {
      if (error instanceof PaymentTooManyPaymentsError) await this.settlement.reviewUnlistable(claim);
    } finally {
      // No effect if settlement has already ended the claim.
      await this.checks.release(claim);
    }
  }
}
