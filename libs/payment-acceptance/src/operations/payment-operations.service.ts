import { setTimeout as sleep } from 'node:timers/promises';
import type { DroppedCounts } from '../callbacks/dropped-callbacks.js';
import { PaymentTooManyPaymentsError } from '../client/service.errors.js';
import { maskCards } from '../common/redact.js';
import { cleanLine, databaseText } from '../common/text.js';
import { statedPageAddress } from '../common/web-address.js';
import { readPieces } from '../common/pieces.js';
import { PaymentShopError } from '../config/shop.errors.js';
import type { BillRecord } from '../domain/bill.js';
import { isServiceId, type BillId, type IntentId, type OrderId } from '../domain/ids.js';
import type { DeadLetter, DeadLetterFilter, LostBill, PastEventFilter, PaymentErasure } from './records.js';
import type { PaymentStats, ShopState } from '../health/statistics.js';
import type { PaymentWorkload } from '../health/workload.js';
import { isUuid } from '../domain/uuid.js';
import type { ShopScope } from '../database/scope.js';
import { attachBill, notUnknownError } from './attach-bill.js';
import { eraseOrder, noBillError, type PaymentErasureOptions } from './erasure.js';
import { earliest, notLostError, type PaymentTakeInOptions } from './lost-bills.js';
import type { OperationsParts } from './operations-parts.js';
import type { DeliveryToReplay, OperatorAction } from './storage/operator.store.js';
import type { PastEvent } from './storage/past-events.store.js';
import { PaymentActionInterruptedError, PaymentOperatorActionError } from './operator.errors.js';
import type { PaymentOperatorOptions } from './operator-options.js';
import { fitsNothing } from './payment-records.service.js';
import type { OwnTransaction } from '../database/own-transaction.js';

/** Whether a shop in the records still exists. */
export interface KnownShop {
  /** Whether the options or the shop resolver have the shop; `null` while the resolver is failing. */
  readonly known: boolean | null;
}

export interface PaymentAttachBillOptions extends PaymentOperatorOptions {
  /**
   * Address of the payment page: https, or outside production also http. Default: none; then `createBill` cannot return the
   * bill.
   */
  readonly linkPageUrl?: string;
  /** Attaches the bill although all its waiting postbacks name other orders; they may be forged. Default `false`. */
  readonly despitePostbacks?: boolean;
}

/**
 * What operators see and do, for one shop or for all. `PaymentOperations` covers all shops; its `forShop(name)` covers one,
 * and treats records of other shops as if they did not exist. Nothing here checks who is calling: keep it behind your own
 * guard.
 */
export class PaymentOperations {
  /** @internal */
  constructor(
    private readonly parts: OperationsParts,
    private readonly scope: ShopScope,
  ) {}

  /**
   * Returns a view limited to one shop, for an operator who may act for that shop only. It refuses every other shop.
   * @throws PaymentUnknownShopError
   */
  forShop(name: string): PaymentOperations {
    return new PaymentOperations(this.parts, this.parts.narrowScope(this.scope, name));
  }

  /** Counts and ages that show whether somebody has to act, and what this instance has dropped since it started. */
  async stats(): Promise<PaymentStats & { readonly dropped: DroppedCounts }> {
    return { ...(await this.parts.statistics.stats(this.scope)), dropped: this.parts.dropped.counts(this.scope) };
  }

  /** What this process is doing right now, and its current limits, which follow from the service and the pool. */
  workload(): PaymentWorkload {
    return this.parts.workload.read(this.scope);
  }

  /**
   * All shops in the records: shows which of them the service refuses (401, or the merchant is unknown or blocked), and
   * which neither the options nor the shop resolver have any more, so that their bills are kept but not checked.
   */
  async shopStates(): Promise<(ShopState & KnownShop)[]> {
    const [states, names] = await Promise.all([this.parts.statistics.shops(this.scope), this.names()]);
    return states.map((state) => ({ ...state, known: names === undefined ? null : names.includes(state.shop) }));
  }

  private async names(): Promise<string[] | undefined> {
    try {
      return await this.parts.shops.list();
    } catch (error) {
      if (!(error instanceof PaymentShopError)) throw error;
      return undefined;
    }
  }

  /**
   * Attaches the service's bill to an unknown outcome. Asks the service for the bill first. The bill is then checked at
   * once, and settles like any other.
   * @param intentId id of our intent, which was sent as `custom` unless the shop gave its own
   * @throws PaymentOperatorActionError, also if postbacks say that the bill is another order's; and PaymentServiceError if
   *   the service does not show the bill
   */
  async attachBill(
    intentId: IntentId,
    billId: BillId,
    { operator, note = '', linkPageUrl, despitePostbacks = false }: PaymentAttachBillOptions,
  ): Promise<void> {
    const { callbacks, client, shops, store } = this.parts;
    const { production } = this.parts.options;
    const page = linkPageUrl === undefined ? null : statedPageAddress(linkPageUrl, production);
    if (linkPageUrl !== undefined && page === null) {
      throw new PaymentOperatorActionError(
        `The address of the payment page must be ${production ? 'https' : 'http or https'}.`,
      );
    }
    if (!isServiceId(billId)) {
      throw new PaymentOperatorActionError('A bill id must be 1 to 128 visible characters without spaces.');
    }
    const bill = await this.unknownBill(intentId);
    const recorded = maskCards(bill.orderId);
    const named = await this.parts.lists.ordersNamed(bill.shop, billId, recorded);
    if (!despitePostbacks && named.length > 0 && named[0] !== recorded) {
      throw new PaymentOperatorActionError(
        `Postbacks of bill ${billId} name order ${cleanLine(named.join(', '))}, not ${bill.orderId}. Look the bill up at the service; if it is ` +
          `this order's all the same, attach it with "despitePostbacks".`,
      );
    }
    // A list that is only partly readable, or refused as too long, also shows that the bill exists.
    await client.readPaymentList(await shops.get(bill.shop), billId, {}, Infinity).catch((error: unknown) => {
      if (!(error instanceof PaymentTooManyPaymentsError)) throw error;
    });
    await attachBill(store, callbacks, bill, { billId, linkPageUrl: page, operator, note });
  }

  /**
   * Records that an unknown outcome created no bill.
   * @throws PaymentOperatorActionError
   */
  async voidBill(intentId: IntentId, { operator, note = '' }: PaymentOperatorOptions): Promise<void> {
    await this.unknownBill(intentId);
    const { store } = this.parts;
    await store.act({ operator, action: 'void-bill', target: intentId, detail: { note } }, async (tx) => {
      if (!(await store.void(tx, intentId))) throw notUnknownError(intentId);
    });
  }

  /**
   * Bills that exist at the service but not in the ledger, in the order in which they were found, at most `limit`: postbacks
   * named them, and the service lists their payments.
   * @param after id of the last bill of the previous page
   */
  lostBills(limit = 1_000, after?: string): Promise<LostBill[]> {
    return this.parts.lostBills.list(limit, this.scope, after);
  }

  /**
   * Imports a lost bill into the ledger, for the order that a person has identified. The bill is checked at once, and
   * settles like any other. Recorded as `import-bill`.
   * @param id the lost bill's id, as {@link lostBills} returns it
   * @throws PaymentOperatorActionError if there is no such lost bill, or it cannot be imported
   */
  async takeInLostBill(id: string, { operator, note = '', ...fields }: PaymentTakeInOptions): Promise<void> {
    const lost = await this.lostBill(id);
    const { shop, billId } = lost;
    // The caller's fields come first, so that ours win: a JavaScript caller may pass any, but must not choose shop or bill.
    const bill = { ...fields, shop, billId, createdAt: earliest(lost) };
    const { refused } = await this.parts.importer.importBills([bill], { operator, note });
    if (refused[0]) throw new PaymentOperatorActionError(refused[0].problems.join(' '));
  }

  /**
   * Records that a lost bill is not ours: it no longer counts, and the service is not asked about it again.
   * @param options the note is required
   * @throws PaymentOperatorActionError
   */
  async dismissLostBill(id: string, { operator, note = '' }: PaymentOperatorOptions): Promise<void> {
    const { lostBills, store } = this.parts;
    if (note.trim() === '') throw new PaymentOperatorActionError('Add a note on why the bill is not yours.');
    const lost = await this.lostBill(id);
    const detail = { shop: lost.shop, serviceBillId: lost.billId, note };
    await store.act({ operator, action: 'dismiss-lost-bill', target: id, detail }, async (tx) => {
      if (!(await lostBills.dismiss(tx, id))) throw notLostError(id);
    });
  }

  private async lostBill(id: string): Promise<LostBill> {
    const lost = await this.parts.lostBills.byId(id, this.scope);
    if (!lost) throw notLostError(id);
    return lost;
  }

  /**
   * Dead letters that match the filter, in settlement order, at most `limit`.
   * @param after id of the last dead letter of the previous page
   */
  async deadLetters(filter: DeadLetterFilter = {}, limit = 1_000, after?: string): Promise<DeadLetter[]> {
    return fitsNothing(filter) ? [] : this.parts.lists.deadLetters(this.scope, filter, limit, after);
  }

  /**
   * Retries dead letters, and deliveries whose handler threw a `PaymentOrderNotFoundError`, at once and with a full set of
   * attempts. Call it after the cause is fixed or the orders are back. Retries one delivery (`deliveryId`), those that match
   * the filter, or all with `{}`. An event that later events of its bill have overtaken says `late: true`. Large numbers are
   * processed in batches: first the deliveries that wait for their order, then dead letters, the oldest event first in each
   * group.
   * @returns how many are retried
   * @throws PaymentActionInterruptedError if a batch fails: the batches before it are retried. Call again for the rest
   */
  async replay(filter: DeadLetterFilter, { operator, note = '' }: PaymentOperatorOptions): Promise<number> {
    if (fitsNothing(filter)) return 0;
    const detail = this.detailOf(filter, note);
    const { store, deliveries } = this.parts;
    // A delivery that waits for its order can meanwhile become a dead letter only by using up all its attempts.
    const reads = [
      (after?: DeliveryToReplay) => store.orderlessToReplay(filter, this.scope, after),
      (after?: DeliveryToReplay) => store.deadToReplay(filter, this.scope, after),
    ];
    const only = filter.deliveryId === undefined ? undefined : (await Promise.all(reads.map((read) => read()))).flat();
    if (only?.length === 0) return 0;
    const target = only?.[0]?.intentId ?? 'dead letters';
    const pieces = only ? [only] : readPieces(...reads);
    return this.actInBatches({ operator, action: 'replay', target, detail }, pieces, async (tx, piece) => {
      const ids = piece.map(({ id }) => id);
      const replayed = await store.replay(tx, ids);
      await deliveries.free(piece, [], tx);
      return replayed;
    });
  }

  /** How many deliveries {@link replay} would retry now. */
  async countReplayable(filter: DeadLetterFilter): Promise<number> {
    return fitsNothing(filter) ? 0 : this.parts.store.replayable(filter, this.scope);
  }

  /** How many deliveries {@link deliverPastEvents} would create now. */
  countPastEvents(filter: PastEventFilter): Promise<number> {
    return this.parts.pastEvents.count(filter, this.scope);
  }

  /**
   * Delivers past events to a consumer that, when they were settled, did not exist or did not take their shop: for example
   * to a handler that a release has added. Each event is delivered once, in settlement order within its bill, with a full
   * set of attempts; an event that later events of its bill have overtaken says `late: true`. Events that the consumer has
   * already received are not delivered again, however long ago that was. A renamed consumer counts as a new one. Large
   * numbers of deliveries are created in batches, those of the oldest events first.
   * @returns how many deliveries were created
   * @throws PaymentOperatorActionError if no instance has ever hosted the consumer: start one first
   * @throws PaymentActionInterruptedError if a batch fails: the batches before it are created. Call again for the rest
   */
  async deliverPastEvents(filter: PastEventFilter, { operator, note = '' }: PaymentOperatorOptions): Promise<number> {
    const { pastEvents, deliveries } = this.parts;
    if (!(await pastEvents.isRegistered(filter.consumer))) {
      throw new PaymentOperatorActionError(
        `No instance has ever hosted a consumer "${filter.consumer}". Check the name, or start an instance with its handler, then call again.`,
        'not-found',
      );
    }
    const detail = this.detailOf(filter, note);
    const pieces = readPieces<PastEvent>((after) => pastEvents.findMissing(filter, this.scope, after));
    const action = { operator, action: 'deliver-past-events', target: filter.consumer, detail };
    return this.actInBatches(action, pieces, async (tx, piece) => {
      const deliveryCount = await pastEvents.deliver(tx, filter, this.scope, piece);
      await deliveries.free(piece, [], tx);
      return deliveryCount;
    });
  }

  /**
   * Retires a consumer, or those events of it that it no longer takes, after a release has removed or renamed the consumer
   * or one of its handlers. No further deliveries of those events are written to it, and the deliveries that it has not
   * taken are removed, dead letters included. Otherwise these deliveries would be kept for ever: health would report them,
   * and the personal data of their bills would not be removed by age. Events that an instance has hosted within the last
   * hour are left alone. Recorded as `retire-consumer`. An instance that hosts the consumer again brings it back: {@link
   * deliverPastEvents} then delivers what it has missed. Not available in the view of one shop.
   * @returns how many deliveries were removed
   * @throws PaymentOperatorActionError if there is no such consumer, or an instance has hosted all of it within the last hour
   * @throws PaymentActionInterruptedError if a batch fails: the batches before it are removed. Call again for the rest
   */
  async retireConsumer(consumer: string, { operator, note = '' }: PaymentOperatorOptions): Promise<number> {
    const { store } = this.parts;
    const read = (state: 'PENDING' | 'DEAD') => () => store.findUntaken(consumer, state);
    const forget = async (tx: OwnTransaction): Promise<void> => {
      const unknown = new PaymentOperatorActionError(
        `There is no consumer "${consumer}". Check its name.`,
        'not-found',
      );
      if (this.scope !== null) throw unknown;
      const { forgotten, hosted } = await store.forgetAbsent(tx, consumer);
      if (forgotten > 0 || (await read('PENDING')()).length > 0 || (await read('DEAD')()).length > 0) return;
      if (hosted === 0) throw unknown;
      throw new PaymentOperatorActionError(
        `Everything that consumer "${consumer}" takes was hosted by an instance within the last hour. If a release has removed it, try again in an hour.`,
      );
    };
    /** Starts with the consumer itself, so that no new deliveries are written. */
    async function* pieces(): AsyncGenerator<readonly (string | null)[]> {
      yield [null];
      yield* readPieces(read('PENDING'), read('DEAD'));
    }
    const action = { operator, action: 'retire-consumer', target: consumer, detail: { note } };
    return this.actInBatches(action, pieces(), async (tx, piece) => {
      const ids = piece.filter((id) => id !== null);
      if (ids.length > 0) return store.removeUntaken(tx, consumer, ids);
      await forget(tx);
      return 0;
    });
  }

  /**
   * Removes the personal data recorded about an order at once, whatever its age: see `retention.redactBillsAfterMs` for
   * which. The bills stay marked, so that a later check, callback or payment stores none again, and later deliveries say
   * `redacted: true`. A bill that is created for the order afterwards has new data. Recorded as `erase`. Idempotent.
   *
   * Does not reach what has left the module: your own tables, events already delivered, brokers, logs, backups, and the
   * service itself. Do not call it before every instance runs a release that has this method.
   * @param order `shop` is by default the view's shop, or the default shop
   * @throws PaymentOperatorActionError if the shop has no bill of the order, or if one of its bills is being created, has an
   *   unknown outcome, or has an open review
   */
  async eraseOrder(
    {
      orderId,
      shop = this.scope ?? this.parts.shops.defaultName,
    }: { readonly orderId: OrderId; readonly shop?: string },
    options: PaymentErasureOptions,
  ): Promise<PaymentErasure> {
    const order = { shop, orderId };
    const isForeign = this.scope !== null && shop !== this.scope;
    if (isForeign || databaseText(shop + orderId) !== shop + orderId) throw noBillError(order);
    return eraseOrder(this.parts, order, options);
  }

  /** Repeats the order and its shop at the top level, beside the filter: an erasure finds an order's notes by them. */
  private detailOf(filter: { readonly orderId?: OrderId; readonly shop?: string }, note: string): object {
    const { orderId, shop = this.scope } = filter;
    const order = orderId !== undefined && { orderId, ...(shop !== null && { shop }) };
    return { filter, note, ...(this.scope !== null && { forShop: this.scope }), ...order };
  }

  private async unknownBill(intentId: IntentId): Promise<BillRecord> {
    const bill = isUuid(intentId) ? await this.parts.bills.byId(intentId, this.scope) : undefined;
    if (bill?.state !== 'UNKNOWN') throw notUnknownError(intentId);
    return bill;
  }

  /**
   * Runs each piece in its own transaction, so that none holds its locks for long and what is done stays done. Pauses
   * four times as long after each, so that an action uses at most a fifth of the database's time.
   */
  private async actInBatches<T>(
    action: OperatorAction,
    pieces: Iterable<readonly T[]> | AsyncIterable<readonly T[]>,
    work: (tx: OwnTransaction, piece: readonly T[]) => Promise<number>,
  ): Promise<number> {
    const { store } = this.parts;
    let recorded: string | undefined;
    let done = 0;
    const act = (piece: readonly T[]) =>
      store.transaction(async (tx) => {
        const count = piece.length === 0 ? 0 : await work(tx, piece);
        const detail = { ...action.detail, count: done + count };
        if (recorded === undefined) return { count, id: await store.record({ ...action, detail }, tx) };
        await store.amend(recorded, { count: detail.count }, tx);
        return { count, id: recorded };
      });
    try {
      let tookMs = 0;
      for await (const piece of pieces) {
        await sleep(4 * tookMs);
        const began = performance.now();
        const { count, id } = await act(piece);
        tookMs = performance.now() - began;
        done += count;
        recorded = id;
      }
      if (recorded === undefined) await act([]);
    } catch (error) {
      if (recorded === undefined) throw error;
      throw new PaymentActionInterruptedError(done, error);
    }
    return done;
  }
}
