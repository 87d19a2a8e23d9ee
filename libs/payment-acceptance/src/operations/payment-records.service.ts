import { isUuid } from '../domain/uuid.js';
import { PaymentOperatorActionError } from './operator.errors.js';
import { databaseText } from '../common/text.js';
import { serviceInstant } from '../config/time-zone.js';
import { BILL_STATES } from '../domain/bill.js';
import type { IntentId } from '../domain/ids.js';
import type {
  BillDetails,
  BillHistory,
  BillQuery,
  BillSummary,
  DeadLetterFilter,
  LoggedAction,
  LostBill,
  PaymentFigures,
  RecordedReview,
  RecordPage,
  WaitingPostback,
} from './records.js';
import type { OperationsParts } from './operations-parts.js';
import { pageOf } from './storage/records/columns.js';
import type { ShopScope } from '../database/scope.js';

/**
 * Read-only records for operator pages, for one shop or for all. `PaymentRecords` covers all shops; its `forShop(name)`
 * covers one, and treats records of other shops as if they did not exist. Lists come in pages of 20. Nothing here checks
 * who is calling: keep it behind your own guard.
 */
export class PaymentRecords {
  /** @internal */
  constructor(
    private readonly parts: OperationsParts,
    private readonly scope: ShopScope,
  ) {}

  /**
   * Returns a view limited to one shop, for an operator who may act for that shop only. It refuses every other shop.
   * @throws PaymentUnknownShopError
   */
  forShop(name: string): PaymentRecords {
    return new PaymentRecords(this.parts, this.parts.narrowScope(this.scope, name));
  }

  /** Names of all shops in the records, including those that are gone. */
  async shops(): Promise<string[]> {
    return this.scope === null ? this.parts.lists.shops() : [this.scope];
  }

  /** Bills, newest first. */
  async bills({ shop, states = BILL_STATES, before }: BillQuery = {}): Promise<RecordPage<BillSummary>> {
    if (this.scope !== null && shop !== undefined && shop !== this.scope) return pageOf([]);
    const only = shop === undefined ? null : databaseText(shop);
    return this.parts.lists.bills(this.scope ?? only, states, before);
  }

  /** The newest bills that match an order, a `bill_id`, a payment id or an intent id; without outer spaces if none does. */
  async searchBills(text: string): Promise<BillSummary[]> {
    const exact = databaseText(text);
    const found = await this.parts.lists.search(this.scope, exact);
    return found.length > 0 || exact.trim() === exact ? found : this.parts.lists.search(this.scope, exact.trim());
  }

  /** One bill; `undefined` if no bill has this intent. */
  bill(intentId: IntentId): Promise<BillDetails | undefined> {
    return this.parts.histories.bill(this.scope, intentId);
  }

  /** One bill with everything that happened to it; `undefined` if no bill has this intent. */
  history(intentId: IntentId): Promise<BillHistory | undefined> {
    return this.parts.histories.ofBill(this.scope, intentId);
  }

  /** One review, decided or not; `undefined` if there is none. */
  review(id: string): Promise<RecordedReview | undefined> {
    return this.parts.lists.review(this.scope, id);
  }

  /** How many dead letters match the filter. */
  async countDeadLetters(filter: DeadLetterFilter = {}): Promise<number> {
    return fitsNothing(filter) ? 0 : this.parts.lists.deadLetterCount(this.scope, filter);
  }

  /** The newest postbacks that name no bill of ours and still wait for one. */
  waitingPostbacks(): Promise<WaitingPostback[]> {
    return this.parts.lists.waitingPostbacks(this.scope);
  }

  /** One lost bill; `undefined` if there is none, or it is no longer lost. */
  lostBill(id: string): Promise<LostBill | undefined> {
    return this.parts.lostBills.byId(id, this.scope);
  }

  /**
   * What operators did, newest first. Empty in the view of one shop, because an action may concern several shops.
   * @param before id of the last action of the previous page
   */
  async actions(before?: string): Promise<RecordPage<LoggedAction>> {
    return this.scope === null ? this.parts.lists.actions(before) : pageOf([]);
  }

  /**
   * Figures of the last 24 hours, for charts. Each is read from a bounded number of rows.
   * @param ages lower bounds of the age groups in which waiting work is counted, in milliseconds, ascending
   */
  async figures(ages: readonly number[]): Promise<PaymentFigures> {
    const { settled, ...figures } = await this.parts.figuresOfToday.read(this.scope, ages);
    const settlementDelaysMs = settled.flatMap(({ shop, createdAtText, settledAt }) => {
      const timeZone = this.parts.shops.peek(shop)?.timeZone;
      const createdAt = timeZone === undefined ? undefined : serviceInstant(createdAtText, timeZone);
      return createdAt ? [settledAt.getTime() - createdAt.getTime()] : [];
    });
    return { ...figures, settlementDelaysMs };
  }
}

/** @throws PaymentOperatorActionError if the id is a row number */
export function fitsNothing({ deliveryId }: DeadLetterFilter): boolean {
  if (deliveryId === undefined || isUuid(deliveryId)) return false;
  if (!/^\d+$/.test(deliveryId)) return true;
  throw new PaymentOperatorActionError(
    `${deliveryId} is a row number, which may mean another delivery after a restore. Specify the delivery by its id, a UUID, as the ` +
      'log, the console and deadLetters() show it.',
  );
}
