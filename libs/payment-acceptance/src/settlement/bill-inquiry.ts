import { Inject, Injectable } from '@nestjs/common';
import { PaymentServiceClient } from '../client/payment-service.client.js';
import { PaymentTooManyPaymentsError } from '../client/service.errors.js';
import { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import { LeasedWorker, type Claimed, type LeasedWork, type WorkerState } from '../common/leased-worker.js';
import { PaymentLogger, type LogFields } from '../common/payment-logger.js';
import { PaymentRandom } from '../common/random.js';
import { maskCards } from '../common/redact.js';
import { RateLimitedLog } from '../common/rate-limited-log.js';
import { cleanLine } from '../common/text.js';
import { Throttle } from '../common/throttle.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import type { BillId } from '../domain/ids.js';
import type { PaymentList, ReportedPayment } from '../domain/payment.js';
import { InquiryStore, type ShopToAsk, type SoughtBill } from './storage/inquiry.store.js';
import { isRefusalOfBill } from './check-errors.js';
import { CheckRequests, retryAfter } from '../client/check-requests.js';
import { FollowedShops } from './followed-shops.js';

/** A request to the service for one bill. */
interface Inquiry {
  readonly shop: Shop;
  readonly billId: BillId;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Pauses between requests for the same bill; after the last one it is not asked for again. */
const PAUSES_MS: readonly number[] = [10 * MINUTE, HOUR, 6 * HOUR, DAY, 3 * DAY];

/** Longest pause between polls for bills to ask for. */
const POLL_MS = 10_000;

/** How often unsuccessful inquiries are deleted, and after how long: by then their postbacks no longer wait. */
const HOUSEKEEPING_MS = HOUR;
const FORGET_MS = 60 * DAY;

/** How long a shop without anything to ask for is skipped. */
const NOTHING_MS = MINUTE;

/**
 * Finds bills that the service created but that are missing from the ledger, for example after a backup was restored: if a
 * postback names a bill that nothing here explains, it asks the service for that bill. Anybody can forge such postbacks,
 * and even a valid digest proves nothing, so only the service's list counts, and it is asked a few times an hour
 * (`callbacks.inquiriesPerHour`). The order is never taken from a postback: a person confirms it.
 *
 * One request at a time, from the rate and the slots that the checks of known bills leave unused.
 */
@Injectable()
export class BillInquiry implements LeasedWork<Inquiry> {
  private readonly logger = new PaymentLogger('PaymentInquiry');
  private readonly rateLimited: RateLimitedLog;
  private readonly housekeeping: Throttle;
  private readonly worker: LeasedWorker<Inquiry>;
  /** When a shop last had nothing to ask for, in epoch milliseconds. */
  private readonly nothingAt = new Map<string, number>();

  constructor(
    private readonly store: InquiryStore,
    private readonly client: PaymentServiceClient,
    private readonly requests: CheckRequests,
    private readonly followed: FollowedShops,
    private readonly random: PaymentRandom,
    private readonly clock: PaymentClock,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {
    this.rateLimited = new RateLimitedLog(this.logger, clock, HOUR);
    this.housekeeping = new Throttle(clock, HOUSEKEEPING_MS);
    const { shutdownMs } = options.deliveries;
    this.worker = new LeasedWorker(
      this,
      { concurrency: 1, pollMs: Math.min(POLL_MS, this.gapMs), shutdownMs },
      this.logger,
    );
  }

  /** Asks for one bill, if one is due; resolves with the number of requests once it is answered. */
  runOnce(): Promise<number> {
    return this.worker.runOnce();
  }

  start(): void {
    if (this.isOn) this.worker.start();
  }

  /** State of its loop; `stalled` if no poll has ended within the last `silenceMs`. */
  state(silenceMs: number): WorkerState {
    return this.worker.state(silenceMs);
  }

  /** Aborts the request in flight. */
  stop(): Promise<void> {
    return this.worker.stop();
  }

  /** @internal Deletes old unsuccessful inquiries. */
  async maintain(): Promise<void> {
    if (this.housekeeping.tryTake()) await this.store.forget(FORGET_MS);
  }

  /** @internal */
  async claim(): Promise<Claimed<Inquiry>> {
    if (!this.isOn) return NOTHING;
    const open = (await this.store.shopsToAsk()).filter(
      ({ shop }) => this.followed.follows(shop) && !this.isQuiet(shop),
    );
    const turns = new Map(open.map((turn) => [turn.shop, turn]));
    for await (const shop of this.followed.settingsOf([...turns.keys()])) {
      const turn = turns.get(shop.name);
      const inquiry = turn && (await this.take(shop, turn));
      if (inquiry) return { items: [inquiry], nextMs: null };
    }
    return NOTHING;
  }

  /** @internal */
  async process({ shop, billId }: Inquiry, stopping: AbortSignal): Promise<void> {
    let list: PaymentList;
    try {
      list = await this.client.readPaymentList(shop, billId, { signal: stopping, attempts: 1 });
    } catch (error) {
      if (error instanceof PaymentTooManyPaymentsError) return this.report(shop, billId, []);
      if (!stopping.aborted) await this.noteFailure(shop, billId, error);
      return;
    }
    const ofBill = list.payments.filter((payment) => payment.billId === null || payment.billId === billId);
    // Unreadable entries count, too: they show that the service knows the bill.
    if (ofBill.length > 0 || (list.payments.length === 0 && list.flaws.length > 0)) {
      await this.report(shop, billId, ofBill);
    }
  }

  /** @internal */
  fieldsOf({ shop, billId }: Inquiry): LogFields {
    return { shop: shop.name, billId };
  }

  /** Counts the request before it is made, so that even a crash cannot repeat it too often. */
  private async take(shop: Shop, turn: ShopToAsk): Promise<Inquiry | undefined> {
    const perSecond = this.requests.perSecond(shop);
    // Leaves a second request for a bill that becomes due meanwhile.
    const isLeft = turn.savedMs >= Math.min(1_000, 2_000 / perSecond);
    if (!isLeft || !this.requests.hasRoomBeside(shop.name, this.followed.count)) return undefined;
    const sought = await this.next(shop.name);
    if (!sought) this.nothingAt.set(shop.name, this.clock.now().getTime());
    if (!sought || !(await this.store.takeTurn(turn, perSecond, this.gapMs))) return undefined;
    await this.store.noteAsked(shop.name, sought, this.random.uuid(), PAUSES_MS[sought.asks] ?? null);
    return { shop, billId: sought.billId };
  }

  /** Chosen at random, so that a flood of postbacks hides neither later nor earlier ones. */
  private async next(shop: string): Promise<SoughtBill | undefined> {
    const { leaseMs } = this.options.creation;
    const lot = Math.floor(this.random.fraction() * 3);
    const again = lot === 0 ? await this.store.nextAgain(shop) : undefined;
    if (again) return again;
    const unasked = await this.store.nextNew(shop, lot === 1 ? 'oldest' : 'newest', leaseMs);
    return unasked ?? (lot === 0 ? undefined : this.store.nextAgain(shop));
  }

  private async report(shop: Shop, billId: BillId, payments: readonly ReportedPayment[]): Promise<void> {
    if (!(await this.store.found(shop.name, billId, payments))) return;
    this.logger.write(
      'lost-bill-found',
      `The service has bill ${billId} of shop "${shop.name}", but the ledger does not: a commit was lost, or another program ` +
        'created it. A person must confirm its order (lost bills).',
      { shop: shop.name, billId },
    );
  }

  /** Rate-limited, since strangers choose what is asked for. */
  private async noteFailure(shop: Shop, billId: BillId, error: unknown): Promise<void> {
    if (isRefusalOfBill(error)) return;
    const pauseMs = retryAfter(error);
    if (pauseMs > this.gapMs) await this.store.putOff(shop.name, pauseMs);
    const what = `Could not ask the service of shop "${shop.name}" for a bill that a postback names.`;
    const fields = { shop: shop.name, billId: cleanLine(maskCards(billId)), error: errorType(error) };
    this.rateLimited.write('inquiry-failed', shop.name, () => `${what} ${describeError(error)}`, fields);
  }

  private isQuiet(shop: string): boolean {
    const ageMs = this.clock.now().getTime() - (this.nothingAt.get(shop) ?? -Infinity);
    return ageMs >= 0 && ageMs < NOTHING_MS;
  }

  private get isOn(): boolean {
    return this.options.callbacks.inquiriesPerHour > 0;
  }

  /** Pause between two requests for one shop, over all instances. */
  private get gapMs(): number {
    return this.isOn ? Math.ceil(HOUR / this.options.callbacks.inquiriesPerHour) : HOUR;
  }
}

const NOTHING: Claimed<Inquiry> = { items: [], nextMs: null };
