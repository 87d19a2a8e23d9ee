import { Inject, Injectable } from '@nestjs/common';
import { PaymentServiceClient } from '../client/payment-service.client.js';
import { PaymentRequestRefusedError, PaymentTooManyPaymentsError } from '../client/service.errors.js';
import { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import { LeasedWorker, WorkingService, type ClaimResult, type LeasedWork } from '../common/leased-worker.js';
import { PaymentLogger, type LogFields } from '../common/payment-logger.js';
import { PaymentRandom } from '../common/random.js';
import { maskCards } from '../common/redact.js';
import { RateLimitedLog } from '../common/rate-limited-log.js';
import { cleanLine } from '../common/text.js';
import { Throttle } from '../common/throttle.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import type { BillId } from '../domain/ids.js';
import type { PaymentList, ReportedPayment } from '../domain/payment.js';
import { ShopStore } from './storage/shop.store.js';
import { InquiryStore, type ShopToAsk, type BillToAsk } from './storage/inquiry.store.js';
import { isRefusalOfBill, isRefusalOfShop, isWithoutAnswer } from './check-errors.js';
import { CheckRequests, retryAfter } from '../client/check-requests.js';
import { FollowedShops } from './followed-shops.js';

interface Inquiries {
  readonly shop: Shop;
  readonly bills: readonly BillToAsk[];
  readonly atOnce: number;
  /** Whether more than half of the places for unknown bills are taken. */
  readonly isCrowded: boolean;
}

/**
 * `unknown` if the service says that it does not know the bill, `kept` if it may know it. `none` means that the service
 * or the shop is in trouble. After `none` or `failed`, no other bill is asked about in the turn.
 */
type InquiryAnswer = 'kept' | 'unknown' | 'failed' | 'none';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Pauses between requests about the same bill. When all are used up, only a further postback starts them again. */
const PAUSES_MS: readonly number[] = [10 * MINUTE, HOUR, 6 * HOUR, DAY, 3 * DAY];

/** The pause is shorter after a turn that found bills to ask about. */
const POLL_MS = 10_000;

/** A turn makes as many requests as fit into this time, and at least one. */
const ROUND_MS = 1_000;

const MAX_AT_ONCE = 8;
const MAX_SHOPS = 4;

/** The lease lasts far longer than the requests about the bills take. */
const LEASE_MS = 2 * MINUTE;

/** The service may demand a longer pause. */
const FAILURE_PAUSE_MS = 15_000;

/** How often unsuccessful inquiries are deleted, and after how long: by then their postbacks no longer wait. */
const HOUSEKEEPING_MS = HOUR;
const DELETE_AFTER_MS = 60 * DAY;

/** How long a shop without anything to ask about is skipped. */
const EMPTY_SHOP_PAUSE_MS = MINUTE;

/**
 * Finds bills that the service created but that are missing from the ledger, for example after a backup was restored:
 * if a postback names a bill that nothing here explains, the service is asked for that bill. Anybody can forge such
 * postbacks, and even a valid digest proves nothing, so only the service's list counts. The number of requests is
 * limited (`callbacks.inquiriesPerHour`), yet even a flood of made-up postbacks is worked through within minutes; while
 * more than half of the places are taken, a bill that the service does not know gives up its place. So no flood hides a
 * genuine bill for long. The order is never taken from a postback: a person confirms it.
 *
 * The requests come from the rate and the slots that the checks of known bills leave unused.
 */
@Injectable()
export class BillInquiry extends WorkingService<Inquiries> implements LeasedWork<Inquiries> {
  private readonly logger = new PaymentLogger('PaymentInquiry');
  private readonly rateLimited: RateLimitedLog;
  private readonly housekeeping: Throttle;
  protected readonly worker: LeasedWorker<Inquiries>;
  /** When each shop last had nothing to ask about. */
  private readonly emptySince = new Map<string, number>();
  private readonly asking = new Set<string>();

  constructor(
    private readonly store: InquiryStore,
    private readonly rows: ShopStore,
    private readonly client: PaymentServiceClient,
    private readonly requests: CheckRequests,
    private readonly followed: FollowedShops,
    private readonly random: PaymentRandom,
    private readonly clock: PaymentClock,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {
    super();
    this.rateLimited = new RateLimitedLog(this.logger, clock, HOUR);
    this.housekeeping = new Throttle(clock, HOUSEKEEPING_MS);
    const { shutdownTimeoutMs } = options;
    this.worker = new LeasedWorker(this, { concurrency: MAX_SHOPS, pollMs: POLL_MS, shutdownTimeoutMs }, this.logger);
  }

  override start(): void {
    if (this.isOn) super.start();
  }

  /** Deletes old unsuccessful inquiries. */
  async maintain(): Promise<void> {
    if (this.housekeeping.tryTake()) await this.store.forget(DELETE_AFTER_MS);
  }

  async claim(limit: number): Promise<ClaimResult<Inquiries>> {
    if (!this.isOn) return NO_INQUIRIES;
    const open = (await this.store.shopsToAsk()).filter(
      ({ shop }) => this.followed.follows(shop) && !this.asking.has(shop) && !this.isSkipped(shop),
    );
    const dueShops = new Map(open.map((dueShop) => [dueShop.shop, dueShop]));
    const items: Inquiries[] = [];
    for await (const shop of this.followed.settingsOf([...dueShops.keys()])) {
      const dueShop = dueShops.get(shop.name);
      const inquiries = dueShop && (await this.leaseBills(shop, dueShop));
      if (inquiries) items.push(inquiries);
      if (items.length === limit) break;
    }
    for (const { shop } of items) this.asking.add(shop.name);
    return { items, nextMs: items.length > 0 ? Math.max(ROUND_MS, this.gapMs) : null };
  }

  async process(inquiries: Inquiries, stopping: AbortSignal): Promise<boolean> {
    const { shop, bills, atOnce, isCrowded } = inquiries;
    const remaining = [...bills];
    const asked: BillToAsk[] = [];
    const unanswered: BillToAsk[] = [];
    const unknown: BillToAsk[] = [];
    const askOneByOne = async (): Promise<void> => {
      for (let bill = remaining.shift(); bill && !stopping.aborted; bill = remaining.shift()) {
        let answer: InquiryAnswer = 'failed';
        try {
          answer = await this.ask(shop, bill.billId, stopping);
        } finally {
          if (answer === 'none' || answer === 'failed') remaining.length = 0;
        }
        (answer === 'none' ? unanswered : asked).push(bill);
        if (answer === 'unknown') unknown.push(bill);
      }
    };
    const ends = await Promise.allSettled(Array.from({ length: atOnce }, askOneByOne));
    this.asking.delete(shop.name);
    // An outage uses up none of a bill's requests: the service is asked again once the lease ends. Unanswered bills
    // count only if others were answered.
    if (asked.length > 0 && !stopping.aborted) asked.push(...unanswered);
    const { creationMs: leaseMs } = this.options.leases;
    if (isCrowded && unknown.length > 0) await this.store.forgetBills(shop.name, unknown, leaseMs);
    const billsToNote = isCrowded ? asked.filter((bill) => !unknown.includes(bill)) : asked;
    for (const asks of new Set(billsToNote.map((bill) => bill.asks))) {
      const sameAsks = billsToNote.filter((bill) => bill.asks === asks);
      await this.store.noteAsked(shop.name, sameAsks, PAUSES_MS[asks] ?? null);
    }
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
    return true;
  }

  fieldsOf({ shop }: Inquiries): LogFields {
    return { shop: shop.name };
  }

  private async ask(shop: Shop, billId: BillId, stopping: AbortSignal): Promise<InquiryAnswer> {
    let list: PaymentList;
    try {
      list = await this.client.readPaymentList(shop, billId, { signal: stopping, attempts: 1 });
    } catch (error) {
      if (isRefusalOfBill(error)) return 'unknown';
      // A gateway's refusal says nothing about the bill. Nor is it a reason for a pause, since outsiders choose what
      // the gateway sees.
      if (error instanceof PaymentRequestRefusedError) return 'kept';
      if (!(error instanceof PaymentTooManyPaymentsError)) {
        if (stopping.aborted) return 'none';
        await this.noteFailure(shop, billId, error);
        return isWithoutAnswer(error) || isRefusalOfShop(error) ? 'none' : 'failed';
      }
      await this.report(shop, billId, []);
      return 'kept';
    }
    const ofBill = list.payments.filter((payment) => payment.billId === null || payment.billId === billId);
    // Unreadable entries count, too: they show that the service knows the bill.
    const isKnown = ofBill.length > 0 || (list.payments.length === 0 && list.problems.length > 0);
    if (isKnown) await this.report(shop, billId, ofBill);
    return isKnown ? 'kept' : 'unknown';
  }

  /** Leaves enough of the rate unused that a bill that becomes due meanwhile can still be checked. */
  private async leaseBills(shop: Shop, dueShop: ShopToAsk): Promise<Inquiries | undefined> {
    const perSecond = this.requests.requestsPerSecond(shop);
    const hasBudget = dueShop.savedMs >= Math.min(1_000, 2_000 / perSecond);
    const atOnce = Math.min(MAX_AT_ONCE, this.requests.spareCapacity(shop.name, this.followed.count));
    if (!hasBudget || atOnce === 0) return undefined;
    const maxRequests = Math.floor((dueShop.savedMs * perSecond) / 1_000) - 1;
    const bills = await this.chooseBills(
      shop.name,
      Math.max(1, Math.min(maxRequests, Math.floor(ROUND_MS / this.gapMs))),
    );
    if (bills.length === 0) {
      this.emptySince.set(shop.name, this.clock.elapsed());
      return undefined;
    }
    const gapMs = bills.length * this.gapMs;
    if (!(await this.store.reserveRequests(dueShop, bills.length, perSecond, gapMs))) return undefined;
    await this.store.lease(shop.name, bills, LEASE_MS, () => this.random.uuid());
    const isCrowded = await this.store.hasMoreWaiting(Math.floor(this.options.callbacks.maxUnmatched / 2), shop.name);
    return { shop, bills, atOnce, isCrowded };
  }

  /** Chosen at random, so that a flood of postbacks hides neither later nor earlier ones. */
  private async chooseBills(shop: string, limit: number): Promise<BillToAsk[]> {
    const { creationMs: leaseMs } = this.options.leases;
    const draw = Math.floor(this.random.fraction() * 3);
    const dueAgain = draw === 0 ? await this.store.findDueAgain(shop, limit) : [];
    if (dueAgain.length > 0) return dueAgain;
    const newBills = await this.store.findNew(shop, draw === 1 ? 'oldest' : 'newest', leaseMs, limit);
    return newBills.length > 0 || draw === 0 ? newBills : this.store.findDueAgain(shop, limit);
  }

  private async report(shop: Shop, billId: BillId, payments: readonly ReportedPayment[]): Promise<void> {
    // A service that calls one address for several names of its shop announces every bill under that name.
    if ((await this.rows.otherNameOf(shop, billId)) !== undefined)
      return this.store.forgetBills(shop.name, [{ billId, asks: 0 }], this.options.leases.creationMs);
    if (!(await this.store.storeConfirmed(shop.name, billId, payments))) return;
    this.logger.write(
      'lost-bill-found',
      `The service has bill ${billId} of shop "${shop.name}", but the ledger does not: a commit was lost, or another program ` +
        'created it. A person must confirm its order (lost bills).',
      { shop: shop.name, billId },
    );
  }

  /** Logs at a limited rate, since outsiders choose which bills are asked about. */
  private async noteFailure(shop: Shop, billId: BillId, error: unknown): Promise<void> {
    const pauseMs = Math.max(FAILURE_PAUSE_MS, retryAfter(error));
    if (pauseMs > this.gapMs) await this.store.postpone(shop.name, pauseMs);
    const what = `Could not ask the service of shop "${shop.name}" about a bill that a postback names.`;
    const fields = { shop: shop.name, billId: cleanLine(maskCards(billId)), error: errorType(error) };
    this.rateLimited.write('inquiry-failed', shop.name, () => `${what} ${describeError(error)}`, fields);
  }

  private isSkipped(shop: string): boolean {
    return this.clock.elapsed() - (this.emptySince.get(shop) ?? -Infinity) < EMPTY_SHOP_PAUSE_MS;
  }

  private get isOn(): boolean {
    return this.options.callbacks.inquiriesPerHour > 0;
  }

  /** The pause between two requests for one shop, over all instances. */
  private get gapMs(): number {
    return this.isOn ? Math.ceil(HOUR / this.options.callbacks.inquiriesPerHour) : HOUR;
  }
}

const NO_INQUIRIES: ClaimResult<Inquiries> = { items: [], nextMs: null };
