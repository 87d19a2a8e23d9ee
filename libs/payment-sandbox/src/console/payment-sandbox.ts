import { Injectable } from '@nestjs/common';
import { type AnswerHold, type ApiOperation, type ApiRequest, RequestLog } from '../storage/request-log.js';
import { PostbacksService } from '../callbacks/postbacks.service.js';
import { redirectOf } from '../callbacks/redirect.js';
import { type ShopCheck, ShopCheckService } from '../callbacks/shop-check.service.js';
import { type Duration, durationMs } from '../common/duration.js';
import { SandboxError } from '../common/errors.js';
import { readChoice, readFields, readFlag, readTexts } from '../common/input.js';
import { FaultDice } from '../faults/fault-dice.js';
import { type Bill, type Callback, CURRENCIES, type Instant, type Payment, type Shop } from '../model/entities.js';
import { type FaultDocument, readFaultDocument } from '../model/fault-document.js';
import type { ShopInput } from '../model/options.js';
import { checkShop, mergeShopSettings } from '../model/shop-settings.js';
import { PaymentsService } from '../payments/payments.service.js';
import { Timetable } from '../payments/timetable.js';
import { type ReceivedRequest, ReceivedRequests } from '../storage/received-requests.js';
import { SandboxClock } from '../storage/sandbox-clock.js';
import { SandboxStore } from '../storage/store.js';
import { type BillView, type PayInput, type PayResult, readAmount, readCard, type ReplayInput } from './pay-input.js';

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
    private readonly received: ReceivedRequests,
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
    return this.received.all.filter(({ id }) => id > after);
  }

  shops(): Shop[] {
    return [...this.store.shops.values()];
  }

  shop(id: string): Shop {
    return requireFound(this.store.shops.get(id), `There is no shop ${id}`);
  }

  /** Creates a shop, or changes the given settings. */
  async putShop(id: string, settings: Partial<ShopInput>): Promise<Shop> {
    const shop: Shop = { id, ...mergeShopSettings(settings, this.store.shops.get(id)) };
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
      ...this.billOf(id),
      paid: this.payments.isPaid(id),
      payments: this.store.paymentsOf(id),
      callbacks: this.store.callbacksOf(id),
    };
  }

  /** Pays as the payer's page does, even a bill that is already paid, and sends the postback. */
  async pay(billId: string, input: PayInput = {}): Promise<PayResult> {
    const bill = this.billOf(billId);
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
    return requireFound(this.store.callbacks.get(id), `There is no callback ${id}`);
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
    const callback = this.postbacks.forge(this.billOf(billId), readTexts(fields, 'set'));
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

  private billOf(id: string): Bill {
    return requireFound(this.store.bills.get(id), `There is no bill ${id}`);
  }

  private async result(payment: Payment): Promise<PayResult> {
    await this.store.durable();
    const bill = this.billOf(payment.billId);
    return { payment, redirect: redirectOf(this.shop(bill.shopId), bill, payment) };
  }
}

function requireFound<T>(value: T | undefined, message: string): T {
  if (value === undefined) throw new SandboxError(404, message);
  return value;
}
