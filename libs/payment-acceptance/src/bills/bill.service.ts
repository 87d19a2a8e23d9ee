import { Inject, Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CreatedBill } from '../client/answers.js';
import { PaymentServiceClient, type BillFields, type CreationControl } from '../client/payment-service.client.js';
import { PaymentServiceError } from '../client/service.errors.js';
import { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { RateLimitedLog } from '../common/rate-limited-log.js';
import { PaymentRandom, timeOrderedUuid } from '../common/random.js';
import { InFlight } from '../common/in-flight.js';
import { maskCards } from '../common/redact.js';
import { KeyedQueue } from '../common/turns.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import type { BillRecord } from '../domain/bill.js';
import { CallbackStore } from '../callbacks/storage/callback.store.js';
import { ABANDONED_FAILURE, BillStore } from './storage/bill.store.js';
import { PaymentPoolExhaustedError, throwTyped } from '../database/database.errors.js';
import { HOST, type Host } from '../database/handler-transactions.js';
import { PaymentMetrics } from '../telemetry/payment-metrics.js';
import { Telemetry } from '../telemetry/telemetry.js';
import {
  isOfEarlierOrder,
  isOrderId,
  prepareBill,
  requireOrderId,
  requirePast,
  type CreateBillRequest,
} from './bill-request.js';
import {
  PaymentApplicationStoppingError,
  PaymentBillError,
  PaymentBillMismatchError,
  PaymentCreationInProgressError,
  PaymentOrderAlreadyPaidError,
  PaymentOrderCancelledError,
  PaymentOrderIdReusedError,
  PaymentUnknownOutcomeError,
} from './bill.errors.js';
import { creationLine, creationRecord } from './creation-log.js';
import { IntentEnds, type Intent } from './intent-ends.js';
import { toPaymentBill, type PaymentBill } from './payment-bill.js';
import type { OrderId } from '../domain/ids.js';
import type { OwnTransaction } from '../database/own-transaction.js';

export interface CreateBillOptions {
  /**
   * Create another bill even if one is open (for another amount, say). The open one can still be paid, and the order then
   * counts as paid, so compare `billedAmount` of the event. Default `false`.
   */
  newAttempt?: boolean;
  /** Aborts the call. If the request may already have been sent, the outcome is unknown. */
  signal?: AbortSignal;
}

/** Pauses between polls while another call creates the bill. */
const POLL_MS = { first: 50, most: 500 };

const CLOSE_BATCH_SIZE = 100;

const REFUSAL_LOG_INTERVAL_MS = 60_000;

/** The intent is stored before the request is sent, and never stays `CREATING`. */
@Injectable()
export class BillService implements BeforeApplicationShutdown {
  private readonly logger = new PaymentLogger('PaymentBills');
  private readonly creations = new InFlight();
  /** Lets calls for one order take turns: otherwise all but one would poll the database and occupy connections. */
  private readonly queue = new KeyedQueue();
  private readonly ends = new IntentEnds(this.store, this.callbacks, this.random, this.logger, this.options);
  private readonly refusals = new RateLimitedLog(this.logger, this.clock, REFUSAL_LOG_INTERVAL_MS);
  private stopping = false;
  private warned = false;

  constructor(
    private readonly store: BillStore,
    private readonly callbacks: CallbackStore,
    private readonly client: PaymentServiceClient,
    private readonly random: PaymentRandom,
    private readonly clock: PaymentClock,
    private readonly telemetry: Telemetry,
    private readonly metrics: PaymentMetrics,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(HOST) private readonly host: Host,
  ) {}

  /** Lets running creations finish and be stored while the database is still available. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping = true;
    await this.creations.idle();
    await this.ends.outcomes.stop();
  }

  async create(shop: Shop, request: CreateBillRequest, options: CreateBillOptions = {}): Promise<PaymentBill> {
    this.warnInsideTransaction();
    const attributes = { 'payment.shop': shop.name };
    const call = this.telemetry.span('payment.create_bill', { attributes }, async (span) => {
      const customGiven = request.custom !== undefined;
      const intentId = timeOrderedUuid(this.random, this.clock.now());
      const fields = prepareBill(shop, request, intentId);
      requirePast(shop.name, fields.orderId, request.orderedAt, this.clock.now());
      // Card numbers are masked in the stored texts, which are only for people to read. The service gets both texts as
      // given.
      const description = fields.description === undefined ? null : maskCards(fields.description);
      const name = fields.name === undefined ? null : maskCards(fields.name);
      const intentFields = {
        shop: shop.name,
        shopId: shop.shopId,
        intentId,
        customGiven,
        traceparent: span.traceparent,
      };
      const intent: Intent = { ...fields, ...intentFields, description, name };
      span.set({ 'payment.order_id': fields.orderId });
      const { waitMs } = this.options.creation;
      const deadline = performance.now() + waitMs;
      const create = () => this.createPrepared(shop, fields, intent, request.orderedAt, options, deadline);
      const key = `${shop.name}\n${fields.orderId}`;
      const inTurn = this.queue.run(key, create, waitMs, options.signal);
      // Even without a turn, try once: the bill may exist by now.
      const bill = await this.creations.track(inTurn.then((createdBill) => createdBill ?? create()));
      span.set({ 'payment.bill_id': bill.billId });
      return bill;
    });
    return this.metrics.creation(shop.name, call);
  }

  /** Settling a payment takes the same lock, so one of the two always comes first. */
  async cancelOrder(shop: string, orderId: string): Promise<void> {
    requireOrderId(shop, orderId);
    const cancelling = this.store.transaction(async (tx) => {
      const { cancelled } = await this.lockUnpaid(tx, shop, orderId);
      if (!cancelled) await this.store.cancelOrder(tx, shop, orderId);
    });
    await cancelling.catch(throwTyped);
  }

  ofOrder(shop: string, orderId: string): Promise<BillRecord[]> {
    if (!isOrderId(orderId)) return Promise.resolve([]);
    return this.store.ofOrder(shop, orderId).catch(throwTyped);
  }

  async closeAbandoned(): Promise<void> {
    let closed: readonly BillRecord[];
    do {
      closed = await this.store.closeAbandoned(CLOSE_BATCH_SIZE, (bill) => this.reportUnknown(bill));
    } while (closed.length === CLOSE_BATCH_SIZE);
  }

  /** Before the commit, since nobody would hear of it if that were stored and its answer lost. */
  private reportUnknown({ shop, orderId, intentId }: BillRecord): void {
    this.logger.write(
      'creation-unknown',
      `It is unknown whether a bill for order "${orderId}" of shop "${shop}" was created (intent ` +
        `${intentId}): the outcome was not stored within its lease, because the process ended or the database ` +
        `was unavailable. Look it up at the service, then attach the bill or void the intent.`,
      { shop, orderId, intentId },
    );
  }

  private warnInsideTransaction(): void {
    // Detects only transactions bound to the asynchronous context of the call, such as those of
    // `typeorm-transactional`.
    if (this.warned || this.host.dataSource?.manager.queryRunner?.isTransactionActive !== true) return;
    this.warned = true;
    this.logger.write(
      'bill-created-in-transaction',
      'createBill was called inside one of your transactions. That works, but the bill stays if you roll back. Call it after the ' +
        'commit. (Logged once.)',
    );
  }

  private async createPrepared(
    shop: Shop,
    fields: BillFields,
    intent: Intent,
    orderedAt: Date | undefined,
    { newAttempt = false, signal }: CreateBillOptions,
    deadline: number,
  ): Promise<PaymentBill> {
    for (let pauseMs = POLL_MS.first; ; pauseMs = Math.min(2 * pauseMs, POLL_MS.most)) {
      if (this.stopping) throw new PaymentApplicationStoppingError(shop.name, fields.orderId);
      await this.ends.outcomes.storeNow(shop.name, fields.orderId);
      // Every attempt begins within the first half of the lease. Later, for example after a suspension of the process,
      // another call may have taken over.
      const beginBefore = this.clock.elapsed() + this.options.leases.creationMs / 2;
      const begun = await this.begin(intent, orderedAt, newAttempt).catch((error: unknown) => {
        // Without a connection no statement was sent, and closing the intent would only wait for a connection, too.
        const mayBeStored = !(error instanceof PaymentBillError || error instanceof PaymentPoolExhaustedError);
        if (mayBeStored) this.endUnsent(intent, error);
        return throwTyped(error);
      });
      if (begun === 'stored') return toPaymentBill(await this.request(shop, fields, intent, { signal, beginBefore }));
      if (begun !== 'busy') return toPaymentBill(begun);
      if (performance.now() >= deadline || signal?.aborted)
        throw new PaymentCreationInProgressError(shop.name, fields.orderId);
      await sleep(pauseMs);
    }
  }

  /**
   * If the reply to a commit was lost, the intent may be stored and would block its order until its lease ends. Tried
   * once, in the background: if that fails, the lease ends the intent.
   */
  private endUnsent({ intentId }: Intent, reason: unknown): void {
    const closing = this.creations.track(this.store.close(intentId, 'REJECTED', describeError(reason)));
    closing.catch(() => undefined);
  }

  /** Returns the open bill that satisfies the call, if there is one; `busy` while another call is creating a bill. */
  private async begin(
    intent: Intent,
    orderedAt: Date | undefined,
    newAttempt: boolean,
  ): Promise<'stored' | 'busy' | BillRecord> {
    const { shop, orderId } = intent;
    if (await this.store.insertFirst(intent, this.options.leases.creationMs)) return 'stored';
    return this.store.transaction(async (tx) => {
      const { cancelled, bills } = await this.lockUnpaid(tx, shop, orderId, orderedAt);
      if (cancelled) throw new PaymentOrderCancelledError(shop, orderId);
      const abandoned: BillRecord[] = [];
      const creating = bills.filter(({ state }) => state === 'CREATING');
      for (const other of creating) {
        // If its own answer arrives at this moment, the next poll finds the bill open.
        if (!other.leaseEnded || !(await this.store.close(other.intentId, 'UNKNOWN', ABANDONED_FAILURE, tx))) break;
        abandoned.push(other);
      }
      const isBusy = abandoned.length < creating.length;
      const begun = isBusy ? 'busy' : await this.findOrInsert(tx, intent, bills, newAttempt);
      abandoned.forEach((bill) => this.reportUnknown(bill));
      return begun;
    });
  }

  private async findOrInsert(
    tx: OwnTransaction,
    intent: Intent,
    bills: readonly BillRecord[],
    newAttempt: boolean,
  ): Promise<'stored' | BillRecord> {
    const { shop, orderId, amount, currency, payerPaysCommission } = intent;
    // A bill that is no longer checked must not be paid: if its postback were lost, nobody would notice. Nor must a
    // bill that was created for another `shopId` under this shop's name.
    const open = bills.filter((each) => each.state === 'OPEN' && each.isScheduled && each.shopId === intent.shopId);
    if (!newAttempt && open.length > 0) {
      const same = open.filter(
        (each) =>
          each.amount === amount && each.currency === currency && each.payerPaysCommission === payerPaysCommission,
      );
      // An imported bill may have no page to send the payer to, and is older than its attempt says.
      same.sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
      const payable = same.findLast(({ linkPageUrl }) => linkPageUrl !== null) ?? same.at(-1);
      if (payable) return payable;
      throw new PaymentBillMismatchError(shop, orderId, open.at(-1) ?? intent, intent);
    }
    const attempt = (bills.at(-1)?.attempt ?? 0) + 1;
    await this.store.insert(tx, { ...intent, attempt }, this.options.leases.creationMs);
    return 'stored';
  }

  private async lockUnpaid(tx: OwnTransaction, shop: string, orderId: OrderId, orderedAt?: Date) {
    const { firstPaymentId, cancelled, cancelledAt } = await this.store.lockOrder(tx, shop, orderId);
    const bills = await this.store.ofOrder(shop, orderId, tx);
    for (const knownAt of [...bills.map(({ createdAt }) => createdAt), ...(cancelledAt ? [cancelledAt] : [])]) {
      if (orderedAt && isOfEarlierOrder(knownAt, orderedAt))
        throw new PaymentOrderIdReusedError(shop, orderId, knownAt, orderedAt);
    }
    if (firstPaymentId !== null || bills.some(({ state }) => state === 'PAID')) {
      throw new PaymentOrderAlreadyPaidError(shop, orderId, firstPaymentId);
    }
    return { cancelled, bills };
  }

  private async request(shop: Shop, fields: BillFields, intent: Intent, control: CreationControl): Promise<BillRecord> {
    let answer: CreatedBill;
    try {
      answer = await this.client.createBill(shop, fields, control);
    } catch (error) {
      const unknown = !(error instanceof PaymentServiceError) || error.mayHaveCreatedBill;
      await this.ends.close(intent, unknown ? 'UNKNOWN' : 'REJECTED', error);
      if (!(error instanceof PaymentServiceError)) throw error;
      if (!unknown) {
        if (error.status !== undefined) this.reportRefusal(shop, intent, error);
        throw error;
      }
      throw new PaymentUnknownOutcomeError(shop.name, fields.orderId, intent.intentId, error);
    }
    // A second record in case the database loses its own, so it is written before the bill is stored.
    const record = creationRecord(shop.name, fields, intent.intentId, answer, this.clock.now());
    this.logger.writePlain('bill-created', creationLine(record, shop.token));
    return this.ends.open(intent, answer);
  }

  private reportRefusal(shop: Shop, { orderId, intentId }: Intent, error: Error): void {
    const line = (): string => `The service refused to create a bill for shop_id "${shop.shopId}". ${error.message}`;
    const fields = { shop: shop.name, orderId, intentId, error: errorType(error) };
    this.refusals.write('creation-refused', shop.name, line, fields);
  }
}
