import { Inject, Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { PaymentServiceClient } from '../client/payment-service.client.js';
import { PaymentServiceError } from '../client/service.errors.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import { PaymentAcceptanceError } from '../common/errors.js';
import { PaymentUnknownShopError } from '../config/configuration.error.js';
import { PaymentShopError } from '../config/shop.errors.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { instantOfWall, isDay } from '../config/time-zone.js';
import { isRefusalOfShop, isWithoutAnswer } from '../settlement/check-errors.js';
import { ReconciliationStore, type BillToReconcile, type ReconciliationSpan } from './storage/reconciliation.store.js';
import { PaymentOperatorActionError, PaymentReconciliationIncompleteError } from './operator.errors.js';
import {
  comparePayments,
  isOfDay,
  unansweredBill,
  type ReconciledPayment,
  type StatementComparison,
} from './reconciliation.js';
import type { ReportedPayment } from '../domain/payment.js';
import { compareWithLedger, type StatementPayment } from './statement.js';

export interface PaymentReconciliationOptions {
  /** The day, `YYYY-MM-DD`, on the service's wall clock: in the `timeZone` of each shop. */
  readonly day: string;
  /** Name of the only shop to reconcile. Default: all shops. */
  readonly shop?: string;
  /**
   * Also ask about bills that were paid or expired on an earlier day and are still being checked for late payments. Makes
   * many more requests. Default `false`.
   */
  readonly followed?: boolean;
  readonly signal?: AbortSignal;
}

/** The reconciliation of one shop's payments. */
export interface ShopReconciliation {
  /** As {@link PaymentReconciliation.reconcile}, for that shop. */
  reconcile(options: Omit<PaymentReconciliationOptions, 'shop'>): AsyncGenerator<ReconciledPayment>;
  /** As {@link PaymentReconciliation.compareStatement}, for that shop. */
  compareStatement(statement: AsyncIterable<StatementPayment>): AsyncGenerator<StatementComparison>;
}

/** How far the clocks of the service and the database may be apart. */
const SKEW_MS = 3_600_000;
const DAY_MS = 24 * 3_600_000;
/** Each page reads the history anew; this size makes one or two pages suffice. */
const PAGE_SIZE = 50_000;
/** After this many consecutive bills without an answer, the service is probably down. */
const MAX_FAILURES = 10;

/**
 * Compares a day's payments at the service with the ledger. It changes nothing: a difference is settled by the bill's next
 * check, or at once by `PaymentChecks.check`.
 */
@Injectable()
export class PaymentReconciliation {
  /** @internal */
  constructor(
    private readonly store: ReconciliationStore,
    private readonly client: PaymentServiceClient,
    private readonly shops: ShopRegistry,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /**
   * The same for one shop, for an operator who may act for that shop only.
   * @throws PaymentUnknownShopError
   */
  forShop(name: string): ShopReconciliation {
    const shop = this.shops.requireName(name);
    return {
      reconcile: (options) => this.reconcile({ ...options, shop }),
      compareStatement: (statement) => this.compareStatement(statement, shop),
    };
  }

  /**
   * Compares a statement of the merchant's account at the service with the ledger, in both directions. This is the only way
   * to find payments of bills that neither the ledger nor a postback names, because the service is never asked about such
   * bills. Yields a row for each payment in the statement, and one for each payment in the ledger that the statement should
   * list but does not. Keeps the ids of the statement in memory. Does not call the service.
   * @param shop name of the shop whose account it is; the default shop if omitted
   * @throws PaymentUnknownShopError
   */
  async *compareStatement(
    statement: AsyncIterable<StatementPayment>,
    shop: string = this.shops.defaultName,
  ): AsyncGenerator<StatementComparison> {
    yield* compareWithLedger(this.store, await this.shops.get(shop), statement);
  }

  /**
   * Asks the service about each bill that was active that day, at no more than half of the shop's rate limit. Yields a row
   * for each payment made that day by the service's `created_at`, and one for each bill without an answer. A bill was active
   * if, at some time that day, it was open, one of its payments was made, first seen or changed, or one of its callbacks
   * was received.
   * @throws PaymentOperatorActionError if `day` is not a date
   * @throws PaymentUnknownShopError
   * @throws PaymentServiceError, PaymentShopError if only one shop is reconciled, and the service does not answer for many
   *   bills in a row, or the shop's settings cannot be read
   * @throws PaymentReconciliationIncompleteError if that happens to some of several shops; thrown once the others are
   *   reconciled
   */
  async *reconcile(options: PaymentReconciliationOptions): AsyncGenerator<ReconciledPayment> {
    const midnight = midnightOf(options.day);
    const names = options.shop === undefined ? await this.shops.list() : [options.shop];
    const failed: { shop: string; error: string }[] = [];
    for (const shop of names) {
      try {
        yield* this.reconcileShop(await this.shops.get(shop), midnight, options);
      } catch (error) {
        if (names.length === 1 || !isOfShop(error)) throw error;
        failed.push({ shop, error: error.code });
      }
    }
    if (failed.length > 0) throw new PaymentReconciliationIncompleteError(failed);
  }

  private async *reconcileShop(
    shop: Shop,
    midnight: number,
    { day, followed = false, signal }: PaymentReconciliationOptions,
  ): AsyncGenerator<ReconciledPayment> {
    const [from, to] = [midnight, midnight + DAY_MS].map((wall) => instantOfWall(shop.timeZone, wall)) as [Date, Date];
    const { paidForMs, expiredForMs } = this.options.schedule;
    const active = {
      shop: shop.name,
      from: new Date(from.getTime() - SKEW_MS),
      to: new Date(to.getTime() + SKEW_MS),
      day,
      followedSince: followed ? new Date(from.getTime() - Math.max(paidForMs, expiredForMs)) : null,
    };
    const pauseMs = 2_000 / shop.requestsPerSecond;
    let failures = 0;
    for await (const bill of this.bills(active)) {
      signal?.throwIfAborted();
      const [{ rows, error }] = await Promise.all([
        this.reconcileBill(shop, bill, signal),
        sleep(pauseMs, undefined, { signal }),
      ]);
      // Of these, the next bill will most likely get the same.
      failures = error && (isWithoutAnswer(error) || isRefusalOfShop(error)) ? failures + 1 : 0;
      if (error && failures >= MAX_FAILURES) throw error;
      yield* rows.filter((row) => isOfDay(row, day, { from, to }));
    }
  }

  private async *bills(span: ReconciliationSpan): AsyncGenerator<BillToReconcile> {
    let last: BillToReconcile | undefined;
    do {
      const page = await this.store.bills(span, last, PAGE_SIZE);
      yield* page;
      last = page.length < PAGE_SIZE ? undefined : page.at(-1);
    } while (last);
  }

  /** Asks the service before reading the ledger, so that what is settled meanwhile is in the ledger. */
  private async reconcileBill(
    shop: Shop,
    bill: BillToReconcile,
    signal: AbortSignal | undefined,
  ): Promise<{ rows: ReconciledPayment[]; error?: PaymentServiceError }> {
    const compared = async (listed: readonly ReportedPayment[], isWhole: boolean): Promise<ReconciledPayment[]> =>
      comparePayments(shop.name, bill, listed, await this.store.payments(bill.intentId), isWhole);
    const unanswered = (code: string): ReconciledPayment => unansweredBill(shop.name, bill, code);
    try {
      const control = signal && { signal };
      const { payments, problems } = await this.client.readPaymentList(shop, bill.billId, control, Infinity);
      const isWhole = problems.length === 0;
      return {
        rows: [...(isWhole ? [] : [unanswered('answer-not-understood')]), ...(await compared(payments, isWhole))],
      };
    } catch (error) {
      if (!(error instanceof PaymentServiceError)) throw error;
      const unlisted = (await compared([], false)).map((row) => ({ ...row, error: error.code }));
      return { rows: [unanswered(error.code), ...unlisted], error };
    }
  }
}

/** Whether the error concerns one shop only, which may also have been removed meanwhile. */
export function isOfShop(error: unknown): error is PaymentAcceptanceError {
  return [PaymentServiceError, PaymentShopError, PaymentUnknownShopError].some((type) => error instanceof type);
}

/** @returns epoch milliseconds, in UTC */
function midnightOf(day: string): number {
  if (!isDay(day)) {
    throw new PaymentOperatorActionError(
      `"${day.slice(0, 32)}" is not a date: specify it as YYYY-MM-DD, such as 2026-11-21.`,
    );
  }
  return Date.parse(`${day}T00:00:00Z`);
}
