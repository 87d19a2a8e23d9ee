import { Injectable } from '@nestjs/common';
import { type Redirect, redirectOf } from '../callbacks/messages.js';
import { PostbacksService } from '../callbacks/postbacks.service.js';
import { type ShopCheck, ShopCheckService } from '../callbacks/shop-check.service.js';
import { formatMinor, parseAmount } from '../common/decimal.js';
import { found, SandboxError } from '../common/errors.js';
import { type Fields, readChoice, readField, readFields, readFlag, readTexts } from '../common/input.js';
import { type Duration, durationMs } from '../common/time.js';
import { FaultDice } from '../faults/fault-dice.js';
import {
  type Amount,
  type Bill,
  type Callback,
  CURRENCIES,
  type Currency,
  type Instant,
  type Payment,
  type Shop,
  type ShopSettings,
} from '../model/entities.js';
import { type FaultDocument, readFaultDocument } from '../model/fault-document.js';
import type { ShopInput } from '../model/options.js';
import { checkShop, mergeShopSettings } from '../model/shop-settings.js';
import { MAX_MINOR } from '../payments/amounts.js';
import { PaymentsService } from '../payments/payments.service.js';
import { cardDigits } from '../payments/test-cards.js';
import { Timetable } from '../payments/timetable.js';
import {
  type AnswerHold,
  type ApiOperation,
  type ApiRequest,
  type ReceivedRequest,
  RequestLog,
} from '../storage/request-log.js';
import { SandboxClock } from '../storage/sandbox-clock.js';
import { SandboxStore } from '../storage/store.js';

/** A bill with its payments, oldest first, and all its postbacks with their attempts and answers. */
export interface BillView extends Bill {
  /** Whether a payment succeeded. */
  paid: boolean;
  payments: Payment[];
  callbacks: Callback[];
}

/** How to pay. What is left out follows from the card and the bill. */
export interface PayInput {
  /** A card number, with or without spaces. Default `4111 1111 1111 1111`, which succeeds. */
  card?: string;
  /** The result, whatever the card would do. */
  outcome?: 'success' | 'fail';
  /** What the payer pays in total, as exact text. Default: what is due. */
  amount?: string;
  /** Default: the bill's. */
  currency?: Currency;
}

export interface PayResult {
  payment: Payment;
  /** Where the payer's browser goes next; null while there is no result, or if no address is set for that result. */
  redirect: Redirect | null;
}

export interface ReplayInput {
  /** Fields to change before sending. */
  set?: Record<string, string>;
  /** Sign the fields anew by section 5, as only the service could. Default false. */
  resign?: boolean;
  /** Default: the shop's `postbackFormat`. */
  format?: ShopSettings['postbackFormat'];
}

const DEFAULT_CARD = '4111 1111 1111 1111';

/**
 * Sets up, drives and inspects the sandbox: the control interface under `/sandbox` as typed methods. Inputs are checked
 * at run time too; a refusal is a {@link SandboxError}. Changes are durable when the promise resolves.
 */
@Injectable()
export class PaymentSandbox {
  /** @internal */
  constructor(
    private readonly store: SandboxStore,
    private readonly clock: SandboxClock,
    private readonly dice: FaultDice,
    private readonly postbacks: PostbacksService,
    private readonly payments: PaymentsService,
    private readonly timetable: Timetable,
    private readonly log: RequestLog,
    private readonly shopChecks: ShopCheckService,
  ) {}

  /** The last 10,000 requests to the API, oldest first. */
  get requests(): readonly ApiRequest[] {
    return this.log.requests;
  }

  /**
   * The last 500 requests as received, oldest first, each with what was wrong. Includes refused requests and requests to
   * unknown addresses. `after` is the id of a request: only later ones are returned.
   */
  receivedRequests(after = 0): ReceivedRequest[] {
    return this.log.received.filter(({ id }) => id > after);
  }

  shops(): Shop[] {
    return [...this.store.shops.values()];
  }

  shop(id: string): Shop {
    return this.store.shop(id);
  }

  /** Creates a shop, or changes the given settings. */
  async putShop(id: string, settings: Partial<ShopInput>): Promise<Shop> {
    const shop: Shop = { id, ...mergeShopSettings(id, settings, this.store.shops.get(id)) };
    checkShop(shop, this.shops());
    this.store.commit({ shop });
    this.shopChecks.forget(id);
    await this.store.durable();
    return shop;
  }

  /**
   * Sends postbacks and redirects to the shop's addresses as the service would, for an order that cannot exist and with
   * wrong signatures and right ones, and reports how they answer.
   */
  checkShop(id: string): Promise<ShopCheck> {
    return this.shopChecks.check(this.shop(id));
  }

  /** Every bill, oldest first. */
  bills(): (Bill & { paid: boolean })[] {
    return [...this.store.bills.values()].map((bill) => ({ ...bill, paid: this.payments.isPaid(bill.id) }));
  }

  bill(id: string): BillView {
    return {
      ...this.store.bill(id),
      paid: this.payments.isPaid(id),
      payments: this.store.paymentsOf(id),
      callbacks: this.store.callbacksOf(id),
    };
  }

  /** Pays as the payer's page does, even a bill that is already paid, and sends the postback. */
  async pay(billId: string, input: PayInput = {}): Promise<PayResult> {
    const bill = this.store.bill(billId);
    const fields = readFields(input, 'A payment', ['card', 'outcome', 'amount', 'currency']);
    const payment = this.payments.pay(bill, {
      card: readCard(fields),
      outcome: readChoice(fields, 'outcome', ['success', 'fail']),
      amount: readAmount(fields),
      currency: readChoice(fields, 'currency', CURRENCIES),
    });
    return this.result(payment);
  }

  /**
   * Gives a payment its result now: from NEW or PROCESS, or as a late success after a failure. A payment that succeeded
   * becomes FAIL only with `force`: the specification has no such change.
   */
  async complete(paymentId: string, input: { outcome: 'success' | 'fail'; force?: boolean }): Promise<PayResult> {
    const fields = readFields(input, 'A completion', ['outcome', 'force']);
    const outcome = readChoice(fields, 'outcome', ['success', 'fail']);
    if (!outcome) throw new SandboxError(400, 'outcome must be "success" or "fail"');
    return this.result(this.payments.complete(paymentId, outcome, readFlag(fields, 'force') ?? false));
  }

  callback(id: string): Callback {
    return found(this.store.callbacks.get(id), `There is no callback ${id}`);
  }

  /** Sends a postback again, optionally changed, as a new callback. */
  async replay(callbackId: string, input: ReplayInput = {}): Promise<Callback> {
    const fields = readFields(input, 'A replay', ['set', 'resign', 'format']);
    const format = readChoice(fields, 'format', ['json', 'form']);
    const callback = this.postbacks.replay(callbackId, readTexts(fields, 'set'), readFlag(fields, 'resign'), format);
    await this.store.durable();
    return callback;
  }

  /** Sends a postback that the service never issued: Status SUCCESS for the bill, unless `set` says otherwise. */
  async forge(billId: string, input: { set?: Record<string, string> } = {}): Promise<Callback> {
    const fields = readFields(input, 'A forgery', ['set']);
    const callback = this.postbacks.forge(this.store.bill(billId), readTexts(fields, 'set'));
    await this.store.durable();
    return callback;
  }

  /** The faults in force. */
  faults(): FaultDocument {
    return this.store.faults;
  }

  /** Replaces the faults in force; the dice start over from the seed. */
  async setFaults(faults: FaultDocument): Promise<FaultDocument> {
    this.dice.put(readFaultDocument(faults));
    await this.store.durable();
    return this.store.faults;
  }

  clearFaults(): Promise<FaultDocument> {
    return this.setFaults({});
  }

  /** The time by the sandbox's clock. */
  now(): Instant {
    return this.clock.instant();
  }

  /**
   * Moves the sandbox's clock on through everything due on the way: planned results, and redeliveries, whose answers it
   * awaits. Resolves with the new time.
   */
  async advanceClock(by: Duration): Promise<Instant> {
    await this.timetable.advance(durationMs(by, 'advance'));
    await this.store.durable();
    return this.now();
  }

  /** Resolves when every postback due by the sandbox's clock has been sent and answered. */
  async settled(): Promise<void> {
    await this.timetable.settled();
    await this.store.durable();
  }

  /**
   * Holds back the API's answers (of one operation, or both) until released. Requests are still served: a held answer
   * shows what was true when it was made.
   */
  holdAnswers(operation?: ApiOperation): AnswerHold {
    return this.log.hold(operation);
  }

  private async result(payment: Payment): Promise<PayResult> {
    await this.store.durable();
    const bill = this.store.bill(payment.billId);
    return { payment, redirect: redirectOf(this.shop(bill.shopId), bill, payment) };
  }
}

function readCard(fields: Fields): string {
  const card = fields['card'] ?? DEFAULT_CARD;
  const digits = typeof card === 'string' ? cardDigits(card) : undefined;
  if (!digits) throw new SandboxError(400, 'card must be a valid card number, as text');
  return digits;
}

function readAmount(fields: Fields): Amount | undefined {
  const rule = 'from 0.01 to 99999999.99 with at most two decimals, such as "100.05"';
  return readField(fields, 'amount', rule, (amount) => {
    const minor = typeof amount === 'string' || typeof amount === 'number' ? parseAmount(String(amount)) : undefined;
    return minor === undefined || minor < 1n || minor > MAX_MINOR ? undefined : formatMinor(minor);
  });
}
