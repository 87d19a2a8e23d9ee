import { Inject, Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { PaymentServiceClient } from '../client/payment-service.client.js';
import { PaymentServiceError } from '../client/service.errors.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { instantOfWall } from '../config/time-zone.js';
import { ReconciliationStore, type BillToReconcile } from '../storage/reconciliation.store.js';
import { OperatorActionError } from './operator.errors.js';
import { comparePayments, notAnswered, type ReconciledPayment } from './reconciliation.js';

export interface ReconciliationOptions {
  /** The day, `YYYY-MM-DD`, on the service's wall clock: in the `timeZone` of each shop. */
  readonly day: string;
  /** Name of the only shop to look at. Default: all shops. */
  readonly shop?: string;
  /**
   * Also ask about bills that were paid or had expired on an earlier day and are still followed, since a payment may come
   * late: many more requests. Default `false`.
   */
  readonly followed?: boolean;
  readonly signal?: AbortSignal;
}

/** Clocks of the service and of the database may disagree by this much. */
const SKEW_MS = 3_600_000;
const DAY_MS = 24 * 3_600_000;
const PAGE = 5_000;
/** The service may be away: after so many bills without an answer in a row, nothing is learnt from asking on. */
const MOST_FAILURES = 10;

/**
 * Holds a day's payments at the service against the ledger. It changes nothing: what differs is settled by the bill's
 * next check, or at once by `PaymentChecks.check`.
 */
@Injectable()
export class PaymentReconciliation {
  constructor(
    private readonly store: ReconciliationStore,
    private readonly client: PaymentServiceClient,
    private readonly shops: ShopRegistry,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /**
   * Asks the service about each bill that was active that day, at no more than half of the shop's rate, and gives a row for
   * each payment that was made that day by the service's `created_at`, and for each bill without an answer. A bill was
   * active when it was open at some time of the day, or a payment or a callback of it became known then.
   * @throws OperatorActionError for a day that is none
   * @throws UnknownShopError
   * @throws PaymentServiceError where the service gives no answer for many bills in a row
   */
  async *reconcile(options: ReconciliationOptions): AsyncGenerator<ReconciledPayment> {
    const midnight = midnightOf(options.day);
    const names = options.shop === undefined ? await this.shops.list() : [options.shop];
    for (const name of names) yield* this.ofShop(await this.shops.get(name), midnight, options);
  }

  private async *ofShop(
    shop: Shop,
    midnight: number,
    { day, followed = false, signal }: ReconciliationOptions,
  ): AsyncGenerator<ReconciledPayment> {
    const from = instantOfWall(shop.timeZone, midnight).getTime();
    const to = instantOfWall(shop.timeZone, midnight + DAY_MS).getTime();
    const { paidForMs, expiredForMs } = this.options.schedule;
    const span = {
      shop: shop.name,
      from: new Date(from - SKEW_MS),
      to: new Date(to + SKEW_MS),
      followedSince: followed ? new Date(from - Math.max(paidForMs, expiredForMs)) : null,
    };
    const pauseMs = 2_000 / shop.requestsPerSecond;
    let failures = 0;
    let last: BillToReconcile | undefined;
    for (;;) {
      const bills = await this.store.bills(span, last, PAGE);
      for (const bill of bills) {
        signal?.throwIfAborted();
        const [rows] = await Promise.all([this.ofBill(shop, bill, signal), sleep(pauseMs, undefined, { signal })]);
        failures = rows instanceof PaymentServiceError ? failures + 1 : 0;
        if (!(rows instanceof PaymentServiceError)) yield* rows.filter((row) => dayOf(row, shop) === day);
        else if (failures < MOST_FAILURES) yield notAnswered(shop.name, bill, rows.code);
        else throw rows;
      }
      if (bills.length < PAGE) return;
      last = bills.at(-1);
    }
  }
}
