import { isUuid } from '../domain/uuid.js';
import { PaymentOperatorActionError } from './operator.errors.js';
import { databaseText } from '../common/text.js';
import type { ShopRegistry } from '../config/shop-registry.js';
import { instantOfWall } from '../config/time-zone.js';
import { BILL_STATES } from '../domain/bill.js';
import type { IntentId } from '../domain/ids.js';
import type { BillDetails, BillHistory, BillSummary, RecordedReview } from './records/bill-history.js';
import type { DeadLetter, DeadLetterFilter } from './records/dead-letter.js';
import type { PaymentFigures } from './records/figures.js';
import type { BillQuery, LoggedAction, RecordPage, WaitingPostback } from './records/lists.js';
import type { LostBill } from './records/lost-bill.js';
import type { LostBillStore } from './storage/lost-bill.store.js';
import type { BillHistoryStore } from './storage/records/bill-history.store.js';
import { PAGE, pageOf } from './storage/records/columns.js';
import type { FiguresStore } from './storage/records/figures.store.js';
import type { RecordListsStore } from './storage/records/record-lists.store.js';
import type { ShopScope } from '../domain/shop-scope.js';

/** Dependencies of a view. */
export interface RecordsTools {
  readonly lists: RecordListsStore;
  readonly histories: BillHistoryStore;
  readonly figuresOfToday: FiguresStore;
  readonly lost: LostBillStore;
  readonly shops: ShopRegistry;
}

/**
 * Read-only records for operator pages, for one shop or for all. `PaymentRecords` covers all shops; its `forShop(name)`
 * covers one, and treats records of other shops as if they did not exist. Lists come in pages of 20. Nothing here checks
 * who is calling: keep it behind your own guard.
 */
export class RecordsView {
  /** @internal */
  constructor(
    /** @internal */
    protected readonly tools: RecordsTools,
    private readonly scope: ShopScope,
  ) {}

  /** Names of all shops in the records, including those that are gone. */
  async shops(): Promise<string[]> {
    return this.scope === null ? this.tools.lists.shops() : [this.scope];
  }

  /** Bills, newest first. */
  async bills({ shop, states = BILL_STATES, before }: BillQuery = {}): Promise<RecordPage<BillSummary>> {
    if (this.scope !== null && shop !== undefined && shop !== this.scope) return pageOf([]);
    const only = shop === undefined ? null : databaseText(shop);
    return this.tools.lists.bills(this.scope ?? only, states, before);
  }

  /** The newest bills that match an order, a `bill_id`, a payment id or an intent id. */
  searchBills(text: string): Promise<BillSummary[]> {
    return this.tools.lists.search(this.scope, databaseText(text).trim());
  }

  /** One bill; `undefined` if no bill has this intent. */
  bill(intentId: IntentId): Promise<BillDetails | undefined> {
    return this.tools.histories.bill(this.scope, intentId);
  }

  /** One bill with everything that happened to it; `undefined` if no bill has this intent. */
  history(intentId: IntentId): Promise<BillHistory | undefined> {
    return this.tools.histories.ofBill(this.scope, intentId);
  }

  /**
   * Open reviews, oldest first.
   * @param after id of the last review of the previous page
   */
  async openReviews(after?: string): Promise<RecordPage<RecordedReview>> {
    return pageOf(await this.tools.lists.reviews(this.scope, PAGE + 1, after));
  }

  /** One review, decided or not; `undefined` if there is none. */
  review(id: string): Promise<RecordedReview | undefined> {
    return this.tools.lists.review(this.scope, id);
  }

  /**
   * Dead letters that match the filter, in settlement order.
   * @param after id of the last dead letter of the previous page
   */
  async deadLetters(filter: DeadLetterFilter = {}, after?: string): Promise<RecordPage<DeadLetter>> {
    if (fitsNothing(filter)) return pageOf([]);
    return pageOf(await this.tools.lists.deadLetters(this.scope, filter, PAGE + 1, after));
  }

  /** How many dead letters match the filter. */
  async countDeadLetters(filter: DeadLetterFilter = {}): Promise<number> {
    return fitsNothing(filter) ? 0 : this.tools.lists.deadLetterCount(this.scope, filter);
  }

  /** The newest postbacks that name no bill of ours and still wait for one. */
  waitingPostbacks(): Promise<WaitingPostback[]> {
    return this.tools.lists.waitingPostbacks(this.scope);
  }

  /**
   * Bills that exist at the service but not in the ledger, in the order in which they were found.
   * @param after id of the last bill of the previous page
   */
  async lostBills(after?: string): Promise<RecordPage<LostBill>> {
    return pageOf(await this.tools.lost.list(PAGE + 1, this.scope, after));
  }

  /** One lost bill; `undefined` if there is none, or it is no longer lost. */
  lostBill(id: string): Promise<LostBill | undefined> {
    return this.tools.lost.byId(id, this.scope);
  }

  /**
   * What operators did, newest first. Empty in the view of one shop, because an action may concern several shops.
   * @param before id of the last action of the previous page
   */
  async actions(before?: string): Promise<RecordPage<LoggedAction>> {
    return this.scope === null ? this.tools.lists.actions(before) : pageOf([]);
  }

  /**
   * Figures of the last 24 hours, for charts. Each is read from a bounded number of rows.
   * @param ages lower bounds of the age groups in which waiting work is counted, in milliseconds, ascending
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

/**
 * Whether the filter names an id that no delivery can have.
 * @throws PaymentOperatorActionError for the number of a delivery's row
 */
export function fitsNothing({ deliveryId }: DeadLetterFilter): boolean {
  if (deliveryId === undefined || isUuid(deliveryId)) return false;
  if (!/^\d+$/.test(deliveryId)) return true;
  throw new PaymentOperatorActionError(
    `${deliveryId} is the number of a row, which means another delivery after a restore. Name the delivery by its id, a UUID, as the ` +
      'log, the console and deadLetters() show it.',
  );
}
