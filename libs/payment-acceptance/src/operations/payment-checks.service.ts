import { Inject, Injectable } from '@nestjs/common';
import { CheckRequests } from '../client/check-requests.js';
import { GroupCommitTimeoutError } from '../common/group-commit.js';
import { PaymentRandom } from '../common/random.js';
import { databaseText, shownText } from '../common/text.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import type { BillState } from '../domain/bill.js';
import type { ClaimedBill } from '../domain/claim.js';
import type { ReportedPayment } from '../domain/payment.js';
import { BillChecks, type CheckedBill } from '../settlement/bill-checks.js';
import { CheckStore } from '../settlement/storage/check.store.js';
import { PaymentOperatorActionError } from './operator.errors.js';
import type { BillId, IntentId, OrderId } from '../domain/ids.js';

/** Result of a check that an operator requested. */
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
    private readonly store: CheckStore,
    private readonly checks: BillChecks,
    private readonly requests: CheckRequests,
    private readonly shops: ShopRegistry,
    private readonly random: PaymentRandom,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /**
   * The same for one shop, for an operator who may act for that shop only.
   * @throws PaymentUnknownShopError
   */
  forShop(name: string): ShopChecks {
    const shop = this.shops.requireName(name);
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
    const resolvedShop = await this.shops.get(shop);
    const { checkMs } = this.options.leases;
    const isId = databaseText(bill) === bill;
    const claim = isId ? await this.store.claimOne(resolvedShop.name, bill, this.random.uuid(), checkMs) : 'unknown';
    if (claim === 'unknown')
      throw new PaymentOperatorActionError(
        `Shop "${resolvedShop.name}" has no bill ${shownText(bill.slice(0, 128))}.`,
        'not-found',
      );
    if (claim === 'busy')
      throw new PaymentOperatorActionError('Another check of the bill is in progress. Try again in a moment.', 'busy');
    const { listed, settled } = await this.run(resolvedShop, claim);
    if (settled.stale)
      throw new PaymentOperatorActionError('Another check took over the bill. Try again in a moment.', 'busy');
    const { shop: name, orderId, billId, intentId, state: stateBefore } = claim;
    const events = settled.events.map(({ name: event }) => event);
    const { payments } = listed;
    return { shop: name, orderId, billId, intentId, stateBefore, stateAfter: settled.state, payments, events };
  }

  /** Counts the check among the shop's requests, so that the schedule takes account of it. */
  private async run(shop: Shop, claim: ClaimedBill): Promise<CheckedBill> {
    this.requests.requestsPerSecond(shop);
    this.requests.acquire(shop.name);
    try {
      return await this.checks.run(claim, new AbortController().signal);
    } catch (error) {
      // After a commit timeout, the transaction may still commit, and holds the bill's lock. After any other error, the
      // lease is released, so that the bill need not wait for its end.
      if (!(error instanceof GroupCommitTimeoutError)) await this.store.releaseLease(claim);
      throw error;
    } finally {
      this.requests.release(shop.name);
    }
  }
}
