import { Inject, Injectable } from '@nestjs/common';
import { PaymentServiceClient } from '../client/payment-service.client.js';
import { TooManyPaymentsError } from '../client/service.errors.js';
import { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import { LeasedWorker, type Claimed, type LeasedWork, type WorkerState } from '../common/leased-worker.js';
import { PaymentLogger, type LogFields } from '../common/payment-logger.js';
import { PaymentRandom } from '../common/random.js';
import { RateLimitedLog } from '../common/rate-limited-log.js';
import { Throttle } from '../common/throttle.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import type { BillId } from '../domain/ids.js';
import type { PaymentList, ReportedPayment } from '../domain/payment.js';
import { InquiryStore, type ShopToAsk, type SoughtBill } from '../storage/inquiry.store.js';
import { isRefusalOfBill } from './check-errors.js';
import { CheckRequests, retryAfter } from './check-requests.js';
import { FollowedShops } from './followed-shops.js';

/** A bill that the service is asked for. */
interface Inquiry {
  readonly shop: Shop;
  readonly billId: BillId;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long after each request for a bill it is asked for again; no more after the last. */
const PAUSES_MS: readonly number[] = [10 * MINUTE, HOUR, 6 * HOUR, DAY, 3 * DAY];

/** How often to look for bills to be asked for. */
const LOOK_MS = 10_000;

/** How often what was asked in vain is forgotten, and after how long: its postbacks no longer wait then. */
const HOUSEKEEPING_MS = HOUR;
const FORGET_MS = 60 * DAY;

/** How long a shop is left alone for which there was nothing to be asked. */
const NOTHING_MS = MINUTE;

/**
 * Notices bills that the service has made and the ledger does not have, as after the restore of a backup: where a postback
 * names a bill that nothing here explains, the service is asked for it. Anybody can make such postbacks up, and a valid
 * digest proves nothing either, so only what the service lists counts, and it is asked a few times an hour
 * (`callbacks.inquiriesPerHour`). An order is taken from no postback: a person confirms it.
 *
 * One request at a time, of what the checks of known bills leave of the shop's rate and of its places.
 */
@Injectable()
export class BillInquiry implements LeasedWork<Inquiry> {
  private readonly logger = new PaymentLogger('PaymentInquiry');
  private readonly rateLimited: RateLimitedLog;
  private readonly housekeeping: Throttle;
  private readonly worker: LeasedWorker<Inquiry>;
  /** When there was nothing to be asked for a shop, in epoch milliseconds. */
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
      { concurrency: 1, pollMs: Math.min(LOOK_MS, this.gapMs), shutdownMs },
      this.logger,
    );
  }

  /** Asks for one bill, where one is to be asked for now; resolves with the number of requests when it is answered. */
  runOnce(): Promise<number> {
    return this.worker.runOnce();
  }

  start(): void {
    if (this.isOn) this.worker.start();
  }

  /** Whether it runs by itself, and has looked for work within the last `silenceMs`. */
  state(silenceMs: number): WorkerState {
    return this.worker.state(silenceMs);
  }

  /** Ends the request in flight. */
  stop(): Promise<void> {
    return this.worker.stop();
  }

  /** @internal Forgets what was asked in vain. */
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
      if (error instanceof TooManyPaymentsError) return this.report(shop, billId, []);
      if (!stopping.aborted) await this.noteFailure(shop, billId, error);
      return;
    }
    const ofBill = list.payments.filter((payment) => payment.billId === null || payment.billId === billId);
    // Entries that cannot be read are entries: the service does list something of the bill.
    if (ofBill.length > 0 || (list.payments.length === 0 && list.flaws.length > 0)) {
      await this.report(shop, billId, ofBill);
    }
  }

  /** @internal */
  fieldsOf({ shop, billId }: Inquiry): LogFields {
    return { shop: shop.name, billId };
  }

  /** Counted before it is asked, so that no request is made more often than it may be, whatever becomes of the process. */
  private async take(shop: Shop, turn: ShopToAsk): Promise<Inquiry | undefined> {
    const perSecond = this.requests.perSecond(shop);
    // Two, so that a bill that becomes due meanwhile finds the other one.
    const isLeft = turn.savedMs >= Math.min(1_000, 2_000 / perSecond);
    if (!isLeft || !this.requests.hasRoomBeside(shop.name, this.followed.count)) return undefined;
    const sought = await this.next(shop.name);
    if (!sought) this.nothingAt.set(shop.name, this.clock.now().getTime());
    if (!sought || !(await this.store.takeTurn(turn, perSecond, this.gapMs))) return undefined;
    await this.store.noteAsked(shop.name, sought, this.random.uuid(), PAUSES_MS[sought.asks] ?? null);
    return { shop, billId: sought.billId };
  }

  /** By lot, so that a flood of postbacks hides neither those that come after it nor those that came before. */
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
    this.logger.error(
      `The service has bill ${billId} of shop "${shop.name}", and the ledger has not: a commit was lost, or another program ` +
        'had it made. A person has to confirm its order (lost bills).',
      { shop: shop.name, billId, error: 'lost-bill' },
    );
  }

  /** Strangers choose what is asked for, so what fails fills no log. */
  private async noteFailure(shop: Shop, billId: BillId, error: unknown): Promise<void> {
    if (isRefusalOfBill(error)) return;
    const pauseMs = retryAfter(error);
    if (pauseMs > this.gapMs) await this.store.putOff(shop.name, pauseMs);
    const what = `The service of shop "${shop.name}" did not say whether it has a bill that a postback names.`;
    const fields = { shop: shop.name, billId, error: errorType(error) };
    this.rateLimited.warn(shop.name, (leftOut) => `${what}${leftOut} ${describeError(error)}`, fields);
  }

  private isQuiet(shop: string): boolean {
    const ageMs = this.clock.now().getTime() - (this.nothingAt.get(shop) ?? -Infinity);
    return ageMs >= 0 && ageMs < NOTHING_MS;
  }

  private get isOn(): boolean {
    return this.options.callbacks.inquiriesPerHour > 0;
  }

  /** Between two requests for bills of one shop, by whatever instance. */
  private get gapMs(): number {
    return this.isOn ? Math.ceil(HOUR / this.options.callbacks.inquiriesPerHour) : HOUR;
  }
}

const NOTHING: Claimed<Inquiry> = { items: [], nextMs: null };
