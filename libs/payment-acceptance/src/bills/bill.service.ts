import { Inject, Injectable, Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeError } from '../common/errors.js';
import { PaymentRandom } from '../common/random.js';
import type { CreatedBill } from '../client/answers.js';
import { PaymentServiceClient, type BillFields } from '../client/payment-service.client.js';
import {
  BillNotFoundError,
  MerchantBannedError,
  MerchantNotFoundError,
  PaymentServiceError,
  RequestAbortedError,
  RequestRefusedError,
  ServiceNetworkError,
  TooManyPaymentsError,
  UnauthenticatedError,
} from '../client/service.errors.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import { BillStore, type BillRecord } from '../storage/bill.store.js';
import { prepareBill, type CreateBillRequest } from './bill-request.js';
import {
  BillAddressError,
  BillMismatchError,
  CreationInProgressError,
  OrderAlreadyPaidError,
  UnknownOutcomeError,
} from './bill.errors.js';

export interface CreateBillOptions {
  /** Make another bill although one is open (of another amount, say). The open one can still be paid. Default `false`. */
  newAttempt?: boolean;
  /** Ends the call. Once the request may have left, the outcome is then unknown. */
  signal?: AbortSignal;
}

/** A bill the payer can pay. */
export interface PaymentBill {
  /** The service's `bill_id` (section 2.2). */
  readonly billId: string;
  /** `link_page_url` (section 2.2): send the payer here. */
  readonly linkPageUrl: string;
  /** `link_url` (section 2.2); `null` where the service gave none that is http or https. */
  readonly linkUrl: string | null;
  readonly orderId: string;
  readonly attempt: number;
  readonly amount: string;
  readonly currency: string;
  /** Id of our stored intent. */
  readonly intentId: string;
}

type Begin = { intent: BillRecord; created: false } | { intentId: string; created: true } | undefined;

const POLL_MS = 50;

/** Creation and look-up of bills. The intent is stored before the request leaves, and always ends in a known state. */
@Injectable()
export class BillService {
  private readonly logger = new Logger('PaymentBills');

  constructor(
    private readonly store: BillStore,
    private readonly client: PaymentServiceClient,
    private readonly random: PaymentRandom,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /**
   * Creates the bill of an order, or returns the open one. Calls at the same moment make one bill.
   *
   * @throws InvalidBillRequestError, OrderAlreadyPaidError, BillMismatchError, CreationInProgressError
   * @throws PaymentServiceError where the service refused, or the request never left: no bill was made
   * @throws UnknownOutcomeError where a bill may have been made
   * @throws BillAddressError where the bill was made but has no usable address
   */
  async create(shop: Shop, request: CreateBillRequest, options: CreateBillOptions = {}): Promise<PaymentBill> {
    const intentId = this.random.uuid();
    const fields = prepareBill(shop, request, intentId);
    const customGiven = request.custom !== undefined;
    const deadline = Date.now() + this.options.creation.waitMs;
    for (;;) {
      const begun = await this.begin(shop, fields, intentId, customGiven, options.newAttempt === true);
      if (begun?.created) return payable(await this.request(shop, fields, begun.intentId, options.signal));
      if (begun) return payable(begun.intent);
      if (Date.now() >= deadline || options.signal?.aborted)
        throw new CreationInProgressError(shop.name, fields.orderId);
      await sleep(POLL_MS);
    }
  }

  /** The order's bills, first attempt first. */
  ofOrder(shop: Shop, orderId: string): Promise<BillRecord[]> {
    return this.store.ofOrder(shop.name, orderId);
  }

  /** Turns creations whose process was killed into unknown outcomes, and says so. */
  async closeAbandoned(): Promise<void> {
    for (const bill of await this.store.closeAbandoned()) {
      this.logger.error(
        `Bill of order "${bill.orderId}" of shop "${bill.shop}": the process ended while it was being created; ` +
          `whether it exists is unknown (intent ${bill.id}).`,
      );
    }
  }

  /** Stores an intent, or finds the bill that answers the call; `undefined` while another call is creating it. */
  private begin(
    shop: Shop,
    fields: BillFields,
    intentId: string,
    customGiven: boolean,
    newAttempt: boolean,
  ): Promise<Begin> {
    const { orderId, amount, currency } = fields;
    return this.store.transaction(async (manager) => {
      const order = await this.store.lockOrder(manager, shop.name, orderId);
      const latest = await this.store.latestOfOrder(shop.name, orderId, manager);
      if (order.firstPaymentId !== null || latest?.state === 'PAID') {
        throw new OrderAlreadyPaidError(shop.name, orderId, order.firstPaymentId);
      }
      if (latest?.state === 'CREATING') {
        if (!latest.leaseEnded) return undefined;
        await this.store.close(latest.id, 'UNKNOWN', 'The process ended before the answer came.', manager);
      }
      if (latest?.state === 'OPEN' && !newAttempt) {
        if (latest.amount !== amount || latest.currency !== currency) {
          throw new BillMismatchError(shop.name, orderId, latest, fields);
        }
        return { intent: latest, created: false };
      }
      await this.store.insert(
        manager,
        {
          ...fields,
          id: intentId,
          shop: shop.name,
          attempt: (latest?.attempt ?? 0) + 1,
          description: fields.description ?? null,
          name: fields.name ?? null,
          customGiven,
        },
        this.options.creation.leaseMs,
      );
      return { intentId, created: true };
    });
  }

  /** Sends the request of a stored intent and brings the intent to the state that follows from the answer. */
  private async request(shop: Shop, fields: BillFields, intentId: string, signal?: AbortSignal): Promise<BillRecord> {
    let answer: CreatedBill;
    try {
      answer = await this.client.createBill(shop, fields, { signal });
    } catch (error) {
      const made = error instanceof PaymentServiceError ? mayHaveMadeABill(error) : true;
      await this.store.close(intentId, made ? 'UNKNOWN' : 'REJECTED', describeError(error));
      if (!made || !(error instanceof PaymentServiceError)) throw error;
      throw new UnknownOutcomeError(shop.name, fields.orderId, intentId, error);
    }
    const [firstCheckMs = 60_000] = this.options.schedule.openMs;
    const opened = await this.store.open(intentId, answer, firstCheckMs);
    if (!opened) throw new Error(`The intent ${intentId} was ended by an operator while its bill was being created.`);
    await this.store.linkWaitingCallbacks(opened);
    return opened;
  }
}

/** Only an understood refusal, and a request that provably never left, are certain to have made nothing. */
function mayHaveMadeABill(error: PaymentServiceError): boolean {
  if (error instanceof ServiceNetworkError || error instanceof RequestAbortedError) return error.mayHaveLeft;
  return !(
    error instanceof RequestRefusedError ||
    error instanceof UnauthenticatedError ||
    error instanceof MerchantNotFoundError ||
    error instanceof MerchantBannedError ||
    error instanceof BillNotFoundError ||
    error instanceof TooManyPaymentsError
  );
}

function payable(bill: BillRecord): PaymentBill {
  if (bill.billId === null || bill.linkPageUrl === null) {
    throw new BillAddressError(bill.shop, bill.orderId, bill.billId ?? '');
  }
  return {
    billId: bill.billId,
    linkPageUrl: bill.linkPageUrl,
    linkUrl: bill.linkUrl,
    orderId: bill.orderId,
    attempt: bill.attempt,
    amount: bill.amount,
    currency: bill.currency,
    intentId: bill.id,
  };
}
