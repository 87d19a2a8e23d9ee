import { Inject, Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CreatedBill } from '../client/answers.js';
import { PaymentServiceClient, type BillFields } from '../client/payment-service.client.js';
import { AnswerNotUnderstoodError, PaymentServiceError } from '../client/service.errors.js';
import { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { PaymentRandom, timeOrderedUuid } from '../common/random.js';
import { InFlight } from '../common/in-flight.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import type { BillRecord } from '../domain/bill.js';
import { ABANDONED, BillStore } from '../storage/bill.store.js';
import { isUniqueViolation } from '../storage/query-errors.js';
import { PaymentMetrics } from '../telemetry/payment-metrics.js';
import { Telemetry } from '../telemetry/telemetry.js';
import { prepareBill, type CreateBillRequest } from './bill-request.js';
import {
  ApplicationStoppingError,
  BillMismatchError,
  BillNotStoredError,
  CreationInProgressError,
  OrderAlreadyPaidError,
  UnknownOutcomeError,
} from './bill.errors.js';
import { CreationOutcomes } from './creation-outcomes.js';
import { linkLateCallbacks } from './late-callbacks.js';
import { mayHaveMadeABill } from './outcome.js';
import { payable, type PaymentBill } from './payment-bill.js';
import type { IntentId, OrderId } from '../domain/ids.js';

export interface CreateBillOptions {
  /** Make another bill although one is open (of another amount, say). The open one can still be paid. Default `false`. */
  newAttempt?: boolean;
  /** Ends the call. Once the request may have left, the outcome is then unknown. */
  signal?: AbortSignal;
}

/** What is stored before the request leaves, beside its fields. */
interface Intent {
  readonly intentId: IntentId;
  readonly customGiven: boolean;
  readonly traceparent: string | null;
}

const POLL_MS = 50;

/** Creation and look-up of bills. The intent is stored before the request leaves, and always ends in a known state. */
@Injectable()
export class BillService implements BeforeApplicationShutdown {
  private readonly logger = new PaymentLogger('PaymentBills');
  private readonly creations = new InFlight();
  private readonly outcomes: CreationOutcomes;
  private stopping = false;

  constructor(
    private readonly store: BillStore,
    private readonly client: PaymentServiceClient,
    private readonly random: PaymentRandom,
    private readonly clock: PaymentClock,
    private readonly telemetry: Telemetry,
    private readonly metrics: PaymentMetrics,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {
    this.outcomes = new CreationOutcomes(options.creation.storeTimeoutMs, random, this.logger);
  }

  /** Creations that are under way end, and are stored, while the database is still there; no further one begins. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping = true;
    await this.creations.idle();
    await this.outcomes.stop();
  }

  /**
   * Creates the bill of an order, or returns the open one. Calls at the same moment make one bill. It stores what it
   * does in transactions of its own: do not call it inside one of yours, whose rollback it would not follow and whose
   * connection it would need a second one beside.
   *
   * @throws InvalidBillRequestError, OrderAlreadyPaidError, BillMismatchError, CreationInProgressError
   * @throws ApplicationStoppingError while the application shuts down
   * @throws PaymentServiceError where the service refused, or the request never left: no bill was made
   * @throws UnknownOutcomeError where a bill may have been made
   * @throws BillNotStoredError where it was made, and the database has not taken that yet: call again
   * @throws BillAddressError where the bill was made but has no usable address
   */
  async create(shop: Shop, request: CreateBillRequest, options: CreateBillOptions = {}): Promise<PaymentBill> {
    const attributes = { 'payment.shop': shop.name };
    const call = this.telemetry.span('payment.create_bill', { attributes }, async (span) => {
      const customGiven = request.custom !== undefined;
      const intentId = timeOrderedUuid(this.random, this.clock.now());
      const intent = { intentId, customGiven, traceparent: span.traceparent };
      const fields = prepareBill(shop, request, intentId);
      span.set({ 'payment.order_id': fields.orderId });
      if (this.stopping) throw new ApplicationStoppingError(shop.name, fields.orderId);
      const bill = await this.creations.track(this.createPrepared(shop, fields, intent, options));
      span.set({ 'payment.bill_id': bill.billId });
      return bill;
    });
    return this.metrics.creation(shop.name, call);
  }

  /** The order's bills, first attempt first. */
  ofOrder(shop: string, orderId: OrderId): Promise<BillRecord[]> {
    return this.store.ofOrder(shop, orderId);
  }

  /** Turns creations whose outcome nobody has stored within their lease into unknown outcomes, and says so. */
  async closeAbandoned(): Promise<void> {
    for (const bill of await this.store.closeAbandoned()) {
      this.logger.error(
        `Bill of order "${bill.orderId}" of shop "${bill.shop}": how its creation ended was not stored within its lease, ` +
          `because the process ended or the database was away; whether it exists is unknown (intent ${bill.intentId}).`,
        { shop: bill.shop, orderId: bill.orderId, intentId: bill.intentId, error: 'unknown-outcome' },
      );
    }
  }

  private async createPrepared(
    shop: Shop,
    fields: BillFields,
    intent: Intent,
    { newAttempt = false, signal }: CreateBillOptions,
  ): Promise<PaymentBill> {
    const deadline = Date.now() + this.options.creation.waitMs;
    for (;;) {
      await this.outcomes.settle(shop.name, fields.orderId);
      const begun = await this.begin(shop, fields, intent, newAttempt);
      if (begun === 'stored') return payable(await this.request(shop, fields, intent.intentId, signal));
      if (begun !== 'busy') return payable(begun);
      if (Date.now() >= deadline || signal?.aborted) throw new CreationInProgressError(shop.name, fields.orderId);
      await sleep(POLL_MS);
    }
  }

  /** Stores an intent, or finds the open bill that answers the call; `busy` while another call is creating one. */
  private async begin(
    shop: Shop,
    fields: BillFields,
    intent: Intent,
    newAttempt: boolean,
  ): Promise<'stored' | 'busy' | BillRecord> {
    const { orderId, amount, currency } = fields;
    const { leaseMs } = this.options.creation;
    const { description = null, name = null } = fields;
    const bill = { ...fields, ...intent, shop: shop.name, description, name };
    if (await this.store.insertFirst(bill, leaseMs)) return 'stored';
    return this.store.transaction(async (manager) => {
      const order = await this.store.lockOrder(manager, shop.name, orderId);
      const bills = await this.store.ofOrder(shop.name, orderId, manager);
      if (order.firstPaymentId !== null || bills.some(({ state }) => state === 'PAID')) {
        throw new OrderAlreadyPaidError(shop.name, orderId, order.firstPaymentId);
      }
      for (const other of bills.filter(({ state }) => state === 'CREATING')) {
        // Where its own answer comes at this very moment, the next look finds it open.
        if (!other.leaseEnded || !(await this.store.close(other.intentId, 'UNKNOWN', ABANDONED, manager)))
          return 'busy';
      }
      const open = bills.filter(({ state }) => state === 'OPEN');
      if (!newAttempt && open.length > 0) {
        const same = open.findLast((each) => each.amount === amount && each.currency === currency);
        if (same) return same;
        throw new BillMismatchError(shop.name, orderId, open.at(-1) ?? fields, fields);
      }
      await this.store.insert(manager, { ...bill, attempt: (bills.at(-1)?.attempt ?? 0) + 1 }, leaseMs);
      return 'stored';
    });
  }

  /** Sends the request of a stored intent and brings the intent to the state that follows from the answer. */
  private async request(shop: Shop, fields: BillFields, intentId: IntentId, signal?: AbortSignal): Promise<BillRecord> {
    let answer: CreatedBill;
    try {
      answer = await this.client.createBill(shop, fields, { signal });
    } catch (error) {
      const unknown = !(error instanceof PaymentServiceError) || mayHaveMadeABill(error);
      await this.closeIntent(
        { shop: shop.name, orderId: fields.orderId, intentId },
        unknown ? 'UNKNOWN' : 'REJECTED',
        error,
      );
      if (!unknown || !(error instanceof PaymentServiceError)) throw error;
      throw new UnknownOutcomeError(shop.name, fields.orderId, intentId, error);
    }
    return this.open(shop, fields, intentId, answer);
  }

  /** Stores the service's answer, which opens the bill: unless its id is that of another one, or an operator was faster. */
  private open(shop: Shop, fields: BillFields, intentId: IntentId, answer: CreatedBill): Promise<BillRecord> {
    const { openMs, jitterPercent } = this.options.schedule;
    const firstCheckMs = (openMs[0] ?? 60_000) * (1 + (this.random.fraction() * jitterPercent) / 100);
    const { billId } = answer;
    const intent = { shop: shop.name, orderId: fields.orderId, intentId };
    const unknown = (flaw: string): UnknownOutcomeError => {
      const error = new AnswerNotUnderstoodError({ shop: shop.name, operation: 'createBill' }, flaw);
      this.logger.error(error.message, { ...intent, billId, error: errorType(error) });
      return new UnknownOutcomeError(shop.name, fields.orderId, intentId, error, billId);
    };
    return this.outcomes.store(
      { ...intent, made: answer },
      // A commit whose answer was lost has opened it already; so has an operator who attached this very bill.
      async () => (await this.store.open(intentId, answer, firstCheckMs)) ?? (await this.store.byId(intentId)),
      async (stored) => {
        let opened: BillRecord | undefined;
        try {
          opened = await stored;
        } catch (error) {
          if (!isUniqueViolation(error)) throw new BillNotStoredError(shop.name, fields.orderId, intentId, billId);
          const twin = unknown(`bill_id ${billId} is that of another bill`);
          await this.closeIntent(intent, 'UNKNOWN', twin.cause);
          throw twin;
        }
        if (opened?.billId !== billId) throw unknown(`an operator has ended the intent of bill ${billId}`);
        await linkLateCallbacks(this.store, opened);
        return opened;
      },
    );
  }

  /** The error that ends the call is worth more than one about storing it, of which the log tells. */
  private async closeIntent(
    intent: { readonly shop: string; readonly orderId: string; readonly intentId: IntentId },
    state: 'REJECTED' | 'UNKNOWN',
    reason: unknown,
  ): Promise<void> {
    const { intentId } = intent;
    const close = (): Promise<boolean> => this.store.close(intentId, state, describeError(reason));
    await this.outcomes.store({ ...intent, made: state }, close, (closed) => closed).catch(() => undefined);
  }
}
