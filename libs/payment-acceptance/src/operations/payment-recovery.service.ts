import { Injectable } from '@nestjs/common';
import type { Shop } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import type { BillId } from '../domain/ids.js';
import { OperatorStore } from './storage/operator.store.js';
import { RecoveryStore, type BillToRecheck, type UnknownBillPostback } from './storage/recovery.store.js';
import { operatorName } from './operator-options.js';
import { PaymentOperatorActionError } from './operator.errors.js';
import { isOfShop } from './payment-reconciliation.service.js';
import { PostbackEvidence, type RecoveredBill } from './recovery.js';

export interface PaymentRecoveryOptions {
  /**
   * Time from which commits may be missing: when the backup was made, or when the standby was last in sync. The recovery
   * also covers the hour before.
   */
  readonly since: Date;
  /** Name of the person who runs the recovery; recorded with the action. */
  readonly operator: string;
  /** Name of the only shop. Default: all shops. */
  readonly shop?: string;
  /** Only report what would be done. Default `false`. */
  readonly dryRun?: boolean;
}

export interface RecoveryReport {
  readonly dryRun: boolean;
  /** For each shop, how many known bills are checked again, and within how many seconds. */
  readonly shops: readonly { readonly shop: string; readonly rechecked: number; readonly withinSeconds: number }[];
  /** Shops whose settings cannot be read, so their known bills are not checked again. Run the recovery again for each. */
  readonly failed: readonly { readonly shop: string; readonly error: string }[];
  /** Bills that are not known here and that only postbacks name. */
  readonly bills: readonly RecoveredBill[];
  /** Number of creations whose outcome remains unknown: somebody has to look for their bills at the service. */
  readonly unknownOutcomes: number;
}

/** The recovery of one shop. */
export interface ShopRecovery {
  /** As {@link PaymentRecovery.recover}, for that shop. */
  recover(options: Omit<PaymentRecoveryOptions, 'shop'>): Promise<RecoveryReport>;
}

/** Allows for clock skew, and for transactions that were still in progress. */
const MARGIN_MS = 3_600_000;

/** Leaves room for the checks of new bills. */
const MAX_RECHECKS_PER_SECOND = 20;

/** The record of the action is updated after this many statements. */
const RECORDED_EVERY = 100;

/** Each page reads the history anew; this size makes one or two pages suffice. */
const PAGE_SIZE = 50_000;

/**
 * Recovers from a database that went back in time: a lagging standby was promoted, or an older backup restored. Idempotent.
 */
@Injectable()
export class PaymentRecovery {
  /** @internal */
  constructor(
    private readonly store: RecoveryStore,
    private readonly operator: OperatorStore,
    private readonly shops: ShopRegistry,
  ) {}

  /**
   * The same for one shop, for an operator who may act for that shop only.
   * @throws PaymentUnknownShopError
   */
  forShop(name: string): ShopRecovery {
    const shop = this.shops.requireName(name);
    return { recover: (options) => this.recover({ ...options, shop }) };
  }

  /**
   * Schedules a new check for every known bill that is open or has changed since the given time, whatever its state, at no
   * more than half of the shop's rate limit. Returns the bills that only postbacks name: a person has to confirm them before
   * they are passed to `PaymentImport`; nothing is imported here. Import the log first (`PaymentImport.importLog`): it is
   * our own record. A bill that appears neither in the log nor in a postback shows up only in the merchant's account: see
   * `PaymentReconciliation.compareStatement`.
   * @throws PaymentOperatorActionError if `operator` is empty, or `since` is an invalid date
   * @throws PaymentUnknownShopError, and PaymentShopError if the only shop, or the list of shops, cannot be read
   */
  async recover(options: PaymentRecoveryOptions): Promise<RecoveryReport> {
    const { operator, shop, dryRun = false } = options;
    operatorName(operator);
    if (Number.isNaN(options.since.getTime())) throw new PaymentOperatorActionError('"since" is not a valid date.');
    const names = shop === undefined ? await this.shops.list() : [(await this.shops.get(shop)).name];
    const since = new Date(options.since.getTime() - MARGIN_MS);
    const shops: RecoveryReport['shops'][number][] = [];
    const bills: RecoveredBill[] = [];
    let unknownOutcomes = 0;
    const failed: RecoveryReport['failed'][number][] = [];
    for (const name of names) {
      try {
        shops.push(await this.recheck(await this.shops.get(name), since, options));
      } catch (error) {
        if (shop !== undefined || !isOfShop(error)) throw error;
        failed.push({ shop: name, error: error.message });
      }
      bills.push(...(await this.recoverFromPostbacks(name, since)));
      unknownOutcomes += await this.store.unknownOutcomes(name);
    }
    return { dryRun, shops, failed, bills, unknownOutcomes };
  }

  private async recheck(
    { name: shop, requestsPerSecond }: Shop,
    since: Date,
    { operator, dryRun }: PaymentRecoveryOptions,
  ): Promise<RecoveryReport['shops'][number]> {
    const perSecond = Math.max(1, Math.min(MAX_RECHECKS_PER_SECOND, Math.floor(requestsPerSecond / 2)));
    let [rechecked, seconds] = [0, 0];
    let last: BillToRecheck | undefined;
    // Recorded before the first change, so that a recovery that breaks off half-way is on record with what it has done.
    const action = {
      operator,
      action: 'recover',
      target: shop,
      detail: { since: since.toISOString(), rechecked },
    } as const;
    const recorded = dryRun ? undefined : await this.operator.record(action);
    do {
      const page = await this.store.billsToRecheck(shop, since, last, PAGE_SIZE);
      for (let offset = 0; offset < page.length; offset += perSecond, seconds += 1) {
        const ids = page.slice(offset, offset + perSecond).map(({ intentId }) => intentId);
        if (!dryRun) await this.store.recheck(ids, seconds * 1_000);
        rechecked += ids.length;
        if (recorded !== undefined && seconds % RECORDED_EVERY === 0)
          await this.operator.amend(recorded, { rechecked });
      }
      if (recorded !== undefined) await this.operator.amend(recorded, { rechecked });
      last = page.length < PAGE_SIZE ? undefined : page.at(-1);
    } while (last);
    return { shop, rechecked, withinSeconds: seconds };
  }

  private async recoverFromPostbacks(shop: string, since: Date): Promise<RecoveredBill[]> {
    const evidence = new Map<BillId, PostbackEvidence>();
    let last: UnknownBillPostback | undefined;
    do {
      const page = await this.store.postbacksOfUnknownBills(shop, since, last, PAGE_SIZE);
      for (const postback of page) {
        const bill = evidence.get(postback.billId) ?? new PostbackEvidence(shop, postback);
        bill.add(postback);
        evidence.set(postback.billId, bill);
      }
      last = page.length < PAGE_SIZE ? undefined : page.at(-1);
    } while (last);
    return Array.from(evidence.values(), (each) => each.bill());
  }
}
