import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { PaymentServiceClient } from '../client/payment-service.client.js';
import { isUuid, PaymentRandom } from '../common/random.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { isUniqueViolation } from '../storage/database.js';
import { BillStore, type BillRecord } from '../storage/bill.store.js';
import { LedgerStore, type PaymentLedger } from '../storage/ledger.store.js';
import {
  OperatorStore,
  type DeadLetter,
  type DeadLetterFilter,
  type PaymentStats,
  type ShopState,
} from '../storage/operator.store.js';
import { OperatorActionError } from './operator.errors.js';

/** What operators and tools see of the module, and do about unknown outcomes and dead letters. */
@Injectable()
export class PaymentOperations {
  constructor(
    private readonly ledger: LedgerStore,
    private readonly store: OperatorStore,
    private readonly bills: BillStore,
    private readonly client: PaymentServiceClient,
    private readonly shops: ShopRegistry,
    private readonly random: PaymentRandom,
  ) {}

  /**
   * Everything recorded, newest first, at most `limit` rows of each kind (default 1000). Carries no secret, but the
   * business of all shops: keep it behind the host's own guard.
   */
  readLedger(limit = 1_000): Promise<PaymentLedger> {
    return this.ledger.read(limit);
  }

  /** Counts and ages that tell whether somebody has to look. */
  stats(): Promise<PaymentStats> {
    return this.store.stats();
  }

  /** The shops, and which of them the service refuses (401, or the merchant unknown or blocked). */
  shopStates(): Promise<ShopState[]> {
    return this.store.shops();
  }

  /** Creations whose outcome never became known, oldest first, at most `limit`. */
  unknownOutcomes(limit = 1_000): Promise<BillRecord[]> {
    return this.bills.unknown(limit);
  }

  /**
   * Ties an unknown outcome to the bill that the service turned out to have. Asks the service for it first; it is checked
   * at once, and settles like any other.
   * @param intentId id of our intent: it went out as `custom` where the shop gave none
   * @param linkPageUrl where the payer can pay it, http or https; without it `createBill` cannot return the bill
   * @throws OperatorActionError, and PaymentServiceError where the service does not show the bill
   */
  async attachBill(intentId: string, serviceBillId: string, operator: string, linkPageUrl?: string): Promise<void> {
    if (linkPageUrl !== undefined && !(URL.canParse(linkPageUrl) && /^https?:/.test(linkPageUrl))) {
      throw new OperatorActionError('The address of the payment page must be http or https.');
    }
    const bill = await this.unknownBill(intentId);
    await this.client.listPayments(this.shops.get(bill.shop), serviceBillId);
    try {
      await this.act(operator, 'attach-bill', intentId, { serviceBillId }, async (manager) => {
        if (!(await this.store.attach(manager, intentId, serviceBillId, linkPageUrl ?? null)))
          throw notUnknown(intentId);
      });
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      throw new OperatorActionError(`Bill ${serviceBillId} is that of another order already.`);
    }
    await this.bills.linkWaitingCallbacks({ ...bill, billId: serviceBillId });
  }

  /**
   * Says that an unknown outcome made no bill.
   * @throws OperatorActionError
   */
  async voidBill(intentId: string, operator: string, note = ''): Promise<void> {
    await this.unknownBill(intentId);
    await this.act(operator, 'void-bill', intentId, { note }, async (manager) => {
      if (!(await this.store.void(manager, intentId))) throw notUnknown(intentId);
    });
  }

  /** Dead letters that fit the filter, in settlement order, at most `limit`. */
  deadLetters(filter: DeadLetterFilter = {}, limit = 1_000): Promise<DeadLetter[]> {
    return this.store.deadLetters(filter, limit);
  }

  /**
   * Sends dead letters again, with all their attempts: one (`deliveryId`), those that fit, or with `{}` all. An event
   * that later ones of its bill have overtaken then says `late: true`. Gives their number.
   */
  replay(filter: DeadLetterFilter, operator: string): Promise<number> {
    if (filter.deliveryId !== undefined && !/^\d{1,18}$/.test(filter.deliveryId)) return Promise.resolve(0);
    return this.act(operator, 'replay', filter.deliveryId ?? 'dead letters', { filter }, (manager) =>
      this.store.replay(manager, filter),
    );
  }

  private async unknownBill(intentId: string): Promise<BillRecord> {
    const bill = isUuid(intentId) ? await this.bills.byId(intentId) : undefined;
    if (bill?.state !== 'UNKNOWN') throw notUnknown(intentId);
    return bill;
  }

  private act<T>(
    operator: string,
    action: string,
    target: string,
    detail: object,
    work: (manager: EntityManager) => Promise<T>,
  ): Promise<T> {
    return this.store.transaction(async (manager) => {
      const result = await work(manager);
      await this.store.record(manager, { id: this.random.uuid(), operator, action, target, detail });
      return result;
    });
  }
}

function notUnknown(intentId: string): OperatorActionError {
  return new OperatorActionError(`Intent ${intentId.slice(0, 64)} is no unknown outcome (any more).`);
}
