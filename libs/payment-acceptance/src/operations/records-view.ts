import { databaseText } from '../common/text.js';
import type { ShopRegistry } from '../config/shop-registry.js';
import { instantOfWall } from '../config/time-zone.js';
import { BILL_STATES } from '../domain/bill.js';
import type { IntentId } from '../domain/ids.js';
import type { BillDetails, BillHistory, BillSummary, RecordedReview } from '../domain/records/bill-history.js';
import { isDeliveryId, type DeadLetter, type DeadLetterFilter } from '../domain/records/dead-letter.js';
import type { PaymentFigures } from '../domain/records/figures.js';
import type { BillQuery, LoggedAction, RecordPage, WaitingPostback } from '../domain/records/lists.js';
import type { LostBill } from '../domain/records/lost-bill.js';
import type { LostBillStore } from '../storage/lost-bill.store.js';
import type { BillHistoryStore } from '../storage/records/bill-history.store.js';
import { PAGE, pageOf } from '../storage/records/columns.js';
import type { FiguresStore } from '../storage/records/figures.store.js';
import type { RecordListsStore } from '../storage/records/record-lists.store.js';
import type { ShopScope } from '../storage/scope.js';

/** What a view works with. */
export interface RecordsTools {
  readonly lists: RecordListsStore;
  readonly histories: BillHistoryStore;
  readonly figuresOfToday: FiguresStore;
  readonly lost: LostBillStore;
  readonly shops: ShopRegistry;
}

/**
 * What pages for operators show, of one shop or of all: `PaymentRecords` is the view of all, and its `forShop(name)` gives
 * that of one, to which the records of another shop are as if they were not there. Lists come in pages of 20. Reads only,
 * and asks nobody who is calling: keep it behind a guard of yours.
 */
export class RecordsView {
  /** @internal */
  constructor(
    /** @internal */
    protected readonly tools: RecordsTools,
    private readonly scope: ShopScope,
  ) {}

  /** Names of the shops that there have been, also of those that are gone. */
  async shops(): Promise<string[]> {
    return this.scope === null ? this.tools.lists.shops() : [this.scope];
  }

  /** Bills, the newest first. */
  async bills({ shop, states = BILL_STATES, before }: BillQuery = {}): Promise<RecordPage<BillSummary>> {
    if (this.scope !== null && shop !== undefined && shop !== this.scope) return pageOf([]);
    const only = shop === undefined ? null : databaseText(shop);
    return this.tools.lists.bills(this.scope ?? only, states, before);
  }

  /** The newest bills with this order, or with this id: the service's of the bill or of a payment, or that of the intent. */
  searchBills(text: string): Promise<BillSummary[]> {
    return this.tools.lists.search(this.scope, databaseText(text).trim());
  }

  /** One bill; `undefined` where there is none with this intent. */
  bill(intentId: IntentId): Promise<BillDetails | undefined> {
    return this.tools.histories.bill(this.scope, intentId);
  }

  /** One bill with all that happened to it; `undefined` where there is none with this intent. */
  history(intentId: IntentId): Promise<BillHistory | undefined> {
    return this.tools.histories.ofBill(this.scope, intentId);
  }

  /**
   * Open reviews, the oldest first.
   * @param after id of the last one of the page before
   */
  openReviews(after?: string): Promise<RecordPage<RecordedReview>> {
    return this.tools.lists.reviews(this.scope, after);
  }

  /** One review, decided or not; `undefined` where there is none. */
  review(id: string): Promise<RecordedReview | undefined> {
    return this.tools.lists.review(this.scope, id);
  }

  /**
   * Dead letters that fit the filter, in settlement order.
   * @param after id of the last one of the page before
   */
  async deadLetters(filter: DeadLetterFilter = {}, after?: string): Promise<RecordPage<DeadLetter>> {
    if (fitsNothing(filter)) return pageOf([]);
    return pageOf(await this.tools.lists.deadLetters(this.scope, filter, PAGE + 1, after));
  }

  /** How many dead letters fit the filter. */
  async countDeadLetters(filter: DeadLetterFilter = {}): Promise<number> {
    return fitsNothing(filter) ? 0 : this.tools.lists.deadLetterCount(this.scope, filter);
  }

  /** The newest postbacks that name no bill of ours, and still wait for one. */
  waitingPostbacks(): Promise<WaitingPostback[]> {
    return this.tools.lists.waitingPostbacks(this.scope);
  }

  /**
   * Bills that the service has made and the ledger does not have, those found first at first.
   * @param after id of the last one of the page before
   */
  async lostBills(after?: string): Promise<RecordPage<LostBill>> {
    return pageOf(await this.tools.lost.list(PAGE + 1, this.scope, after));
  }

  /** One lost bill; `undefined` where there is none, or it is lost no longer. */
  lostBill(id: string): Promise<LostBill | undefined> {
    return this.tools.lost.byId(id, this.scope);
  }

  /**
   * What operators did, the newest first. An action may be about several shops, so the view of one shop has none of them.
   * @param before id of the last one of the page before
   */
  async actions(before?: string): Promise<RecordPage<LoggedAction>> {
    return this.scope === null ? this.tools.lists.actions(before) : pageOf([]);
  }

  /**
   * The last 24 hours in figures, for charts. Each is read from a bounded number of rows.
   * @param ages from which on waiting work is counted apart, in milliseconds, ascending
   */
  async figures(ages: readonly number[]): Promise<PaymentFigures> {
    const { settled, ...figures } = await this.tools.figuresOfToday.read(this.scope, ages);
    const settlementDelaysMs = settled.flatMap(({ shop, createdAtText, settledAt }) => {
      const timeZone = this.tools.shops.peek(shop)?.timeZone;
      const wall = Date.parse(`${createdAtText.replace(' ', 'T')}Z`);
      if (timeZone === undefined || Number.isNaN(wall)) return [];
      return [settledAt.getTime() - instantOfWall(timeZone, wall).getTime()];
    });
    return { ...figures, settlementDelaysMs };
  }
}

/** With an id that no delivery can have. */
export function fitsNothing({ deliveryId }: DeadLetterFilter): boolean {
  return deliveryId !== undefined && !isDeliveryId(deliveryId);
}
