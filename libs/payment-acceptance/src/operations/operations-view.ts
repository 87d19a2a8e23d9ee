import type { EntityManager } from 'typeorm';
import { linkLateCallbacks } from '../bills/late-callbacks.js';
import type { DroppedCounts } from '../callbacks/dropped-callbacks.js';
import { statedPageAddress } from '../common/web-address.js';
import { DynamicShopError } from '../config/shop.errors.js';
import type { BillRecord } from '../domain/bill.js';
import type { BillId, IntentId } from '../domain/ids.js';
import type { DeadLetter, DeadLetterFilter } from '../domain/records/dead-letter.js';
import type { PaymentLedger } from '../domain/records/ledger.js';
import type { LostBill } from '../domain/records/lost-bill.js';
import type { PastEventCounts, PastEventFilter } from '../domain/records/past-events.js';
import type { Released, ReleaseFilter } from '../domain/records/release.js';
import type { PaymentStats, ShopState } from '../domain/records/statistics.js';
import { isUuid } from '../domain/uuid.js';
import { isUniqueViolation } from '../storage/query-errors.js';
import type { ShopScope } from '../storage/scope.js';
import type { TakeInOptions } from './lost-bills.js';
import type { KnownShop, OperationsTools, PastEventsReport } from './operations-tools.js';
import { OperatorActionError } from './operator.errors.js';
import { fitsNothing } from './records-view.js';
import type { PaymentWorkload } from './workload.js';

/**
 * What operators see and do, of one shop or of all: `PaymentOperations` is the view of all, and its `forShop(name)` gives
 * that of one. What belongs to another shop is to a view as if it were not there. Nothing here asks who is calling: keep
 * it behind a guard of yours.
 */
export class OperationsView {
  /** @internal */
  constructor(
    /** @internal */
    protected readonly tools: OperationsTools,
    private readonly scope: ShopScope,
  ) {}

  /** Everything recorded, newest first, at most `limit` rows of each kind (default 1000). Carries no secret. */
  readLedger(limit = 1_000): Promise<PaymentLedger> {
    return this.tools.ledger.read(limit, this.scope);
  }

  /** Counts and ages that tell whether somebody has to look, and what this instance has dropped since it started. */
  async stats(): Promise<PaymentStats & { readonly dropped: DroppedCounts }> {
    return { ...(await this.tools.statistics.stats(this.scope)), dropped: this.tools.overload.counts(this.scope) };
  }

  /** What this process does at this moment, and how much of it it may do at once, as the service and the pool let it. */
  workload(): PaymentWorkload {
    return this.tools.workload.read(this.scope);
  }

  /**
   * The shops, which of them the service refuses (401, or the merchant unknown or blocked), and which are neither in the
   * options nor at the shop resolver any more: their bills are kept and not checked.
   */
  async shopStates(): Promise<(ShopState & KnownShop)[]> {
    const [states, names] = await Promise.all([this.tools.statistics.shops(this.scope), this.names()]);
    return states.map((state) => ({ ...state, known: names === undefined ? null : names.includes(state.shop) }));
  }

  private async names(): Promise<string[] | undefined> {
    try {
      return await this.tools.shops.list();
    } catch (error) {
      if (!(error instanceof DynamicShopError)) throw error;
      return undefined;
    }
  }

  /** Creations whose outcome never became known, oldest first, at most `limit`. */
  unknownOutcomes(limit = 1_000): Promise<BillRecord[]> {
    return this.tools.bills.unknown(limit, this.scope);
  }

  /**
   * Ties an unknown outcome to the bill that the service turned out to have. Asks the service for it first; it is checked
   * at once, and settles like any other.
   * @param intentId id of our intent: it went out as `custom` where the shop gave none
   * @param linkPageUrl where the payer can pay it, http or https, in production https; without it `createBill` cannot return
   *   the bill
   * @throws OperatorActionError, and PaymentServiceError where the service does not show the bill
   */
  async attachBill(
    intentId: IntentId,
    billId: BillId,
    operator: string,
    linkPageUrl?: string,
    note = '',
  ): Promise<void> {
    const { bills, client, shops, store, production } = this.tools;
    const page = linkPageUrl === undefined ? null : statedPageAddress(linkPageUrl, production);
    if (linkPageUrl !== undefined && page === null) {
      throw new OperatorActionError(
        `The address of the payment page must be ${production ? 'https' : 'http or https'}.`,
      );
    }
    if (!/^[\x21-\x7e]{1,128}$/.test(billId)) {
      throw new OperatorActionError('A bill id has 1 to 128 visible characters and no space.');
    }
    const bill = await this.unknownBill(intentId);
    await client.listPayments(await shops.get(bill.shop), billId);
    try {
      await this.act(operator, 'attach-bill', intentId, { serviceBillId: billId, note }, async (manager) => {
        if (!(await store.attach(manager, intentId, billId, page))) throw notUnknown(intentId);
      });
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      throw new OperatorActionError(`Bill ${billId} is that of another order already.`);
    }
    await linkLateCallbacks(bills, { ...bill, billId });
  }

  /**
   * Says that an unknown outcome made no bill.
   * @throws OperatorActionError
   */
  async voidBill(intentId: IntentId, operator: string, note = ''): Promise<void> {
    await this.unknownBill(intentId);
    await this.act(operator, 'void-bill', intentId, { note }, async (manager) => {
      if (!(await this.tools.store.void(manager, intentId))) throw notUnknown(intentId);
    });
  }

  /**
   * Bills that the service has made and the ledger does not have, those found first at first, at most `limit`: postbacks named
   * them, and the service lists their payments.
   * @param after id of the last one of a page: then those that follow it
   */
  lostBills(limit = 1_000, after?: string): Promise<LostBill[]> {
    return this.tools.lostBills.list(limit, this.scope, after);
  }

  /**
   * Takes a lost bill into the ledger, for the order that a person has found out: it is imported, checked at once, and settles
   * like any other. Recorded as `import-bill`.
   * @param id of the lost bill, as {@link lostBills} gives it
   * @throws OperatorActionError where there is none (any more), or it cannot be imported so
   */
  takeInLostBill(id: string, options: TakeInOptions): Promise<void> {
    return this.tools.lostBills.takeIn(id, options, this.scope);
  }

  /**
   * Says that a lost bill is none of ours: it counts no longer, and is not asked for again.
   * @param note why: it is required
   * @throws OperatorActionError
   */
  dismissLostBill(id: string, operator: string, note: string): Promise<void> {
    return this.tools.lostBills.dismiss(id, operator, note, this.scope);
  }

  /** Dead letters that fit the filter, in settlement order, at most `limit`. */
  async deadLetters(filter: DeadLetterFilter = {}, limit = 1_000): Promise<DeadLetter[]> {
    return fitsNothing(filter) ? [] : this.tools.lists.deadLetters(this.scope, filter, limit);
  }

  /**
   * Sends dead letters again, with all their attempts: one (`deliveryId`), those that fit, or with `{}` all. An event
   * that later ones of its bill have overtaken then says `late: true`. Gives their number.
   */
  async replay(filter: DeadLetterFilter, operator: string, note = ''): Promise<number> {
    if (fitsNothing(filter)) return 0;
    const detail = { filter, note, ...(this.scope !== null && { forShop: this.scope }) };
    const { store, deliveries } = this.tools;
    return this.act(operator, 'replay', filter.deliveryId ?? 'dead letters', detail, async (manager) => {
      const replayed = await store.replay(manager, filter, this.scope);
      await deliveries.free('all', [], manager);
      return replayed;
    });
  }

  /** How many deliveries {@link deliverPastEvents} would make now, and how many events it would leave out. */
  pastEvents(filter: PastEventFilter): Promise<PastEventCounts> {
    return this.tools.pastEvents.count(filter, this.scope);
  }

  /**
   * Gives a consumer events that were settled while it was not there: a handler that a release has added gets those of
   * before, a shop that a consumer has begun to take gets its past. Each event goes out once, in settlement order within its
   * bill, with all its attempts; one that later events of its bill have overtaken says `late: true`. Left out is what the
   * consumer may have had already: events since it was registered whose deliveries retention may have removed
   * (`retention.deleteDeliveriesAfterMs`), or that are older than migration 12.
   * @returns how many deliveries were made, and how many events were left out
   * @throws OperatorActionError where no instance has ever hosted the consumer: start one first
   */
  async deliverPastEvents(filter: PastEventFilter, operator: string, note = ''): Promise<PastEventsReport> {
    const { pastEvents, deliveries } = this.tools;
    if (!(await pastEvents.isRegistered(filter.consumer))) {
      throw new OperatorActionError(
        `No instance has hosted a consumer "${filter.consumer}" yet. Start one with its handler, then call again.`,
      );
    }
    const detail = { filter, note, ...(this.scope !== null && { forShop: this.scope }) };
    return this.act(operator, 'deliver-past-events', filter.consumer, detail, async (manager) => {
      const { uncertain } = await pastEvents.count(filter, this.scope, manager);
      const made = await pastEvents.deliver(manager, filter, this.scope);
      await deliveries.free('all', [], manager);
      return { made, leftOut: uncertain };
    });
  }

  /**
   * Says that orders are there again: lets the events of bills go that were imported with `hold`, in their order, and has
   * deliveries tried now whose handler threw an `OrderNotFoundError`: those that fit, or with `{}` all. Doing it again does
   * no harm.
   */
  async release(filter: ReleaseFilter, operator: string, note = ''): Promise<Released> {
    const detail = { filter, note, ...(this.scope !== null && { forShop: this.scope }) };
    const { store, deliveries } = this.tools;
    return this.act(operator, 'release', filter.orderId ?? 'orders', detail, async (manager) => {
      const released = await store.release(manager, filter, this.scope);
      await deliveries.free('all', [], manager);
      return released;
    });
  }

  private async unknownBill(intentId: IntentId): Promise<BillRecord> {
    const bill = isUuid(intentId) ? await this.tools.bills.byId(intentId, this.scope) : undefined;
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
    const { store, random } = this.tools;
    return store.transaction(async (manager) => {
      const result = await work(manager);
      await store.record(manager, { id: random.uuid(), operator, action, target, detail });
      return result;
    });
  }
}

function notUnknown(intentId: IntentId): OperatorActionError {
  return new OperatorActionError(`Intent ${intentId.slice(0, 64)} is no unknown outcome (any more).`);
}
