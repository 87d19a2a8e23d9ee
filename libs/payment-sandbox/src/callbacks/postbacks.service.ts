import { Inject, Injectable } from '@nestjs/common';
import { earliest } from '../common/clock.js';
import { durationMs } from '../common/duration.js';
import { SandboxError } from '../common/errors.js';
import { randomId } from '../common/ids.js';
import { FaultDice } from '../faults/fault-dice.js';
import type { Bill, Callback, Payment, Shop } from '../model/entities.js';
import { type PaymentSandboxOptions, SANDBOX_OPTIONS } from '../model/options.js';
import { SandboxClock } from '../storage/sandbox-clock.js';
import { SandboxStore } from '../storage/store.js';
import { oneLine } from '../model/log-line.js';
import { adviceFor, isForged, type PostAttempt } from './advice.js';
import { noAnswer, post, type PostAnswer } from './post.js';
import { postbackBody, postbackFields, signFields } from './postback.js';
import { Probes } from './probes.js';

const DEFAULT_RETRY_DELAYS = ['10s', '100s', '1000s', '10000s', '100000s'];
const MAX_IN_FLIGHT = 32;

/** Delivers each postback until it is answered with exactly HTTP 200 or no attempt is left. */
@Injectable()
export class PostbacksService {
  private readonly inFlight = new Map<string, Promise<void>>();
  private readonly shutdown = new AbortController();
  private ended: () => void = () => undefined;
  private readonly retryDelaysMs: number[];
  private readonly timeoutMs: number;

  constructor(
    private readonly store: SandboxStore,
    private readonly clock: SandboxClock,
    private readonly dice: FaultDice,
    private readonly probes: Probes,
    @Inject(SANDBOX_OPTIONS) private readonly options: PaymentSandboxOptions,
  ) {
    const delays = options.postbackRetryDelays ?? DEFAULT_RETRY_DELAYS;
    this.retryDelaysMs = delays.map((delay) => durationMs(delay, 'postbackRetryDelays'));
    this.timeoutMs = durationMs(options.postbackTimeout ?? '10s', 'postbackTimeout');
  }

  /** Includes the postbacks that faults add. Commit them together with the payment's result. */
  prepare(shop: Shop, bill: Bill, payment: Payment): Callback[] {
    if (shop.resultUrl === null) return [];
    const faults = this.dice.forPostback(payment.status);
    const genuine = postbackFields(shop, bill, payment);
    const change = faults.get('change');
    const changedFields = { ...genuine, ...change?.set };
    const callback = this.make(
      bill.id,
      payment.id,
      'postback',
      change?.resign ? signFields(changedFields, shop) : changedFields,
    );
    const delay = faults.get('delay');
    if (delay) callback.nextTryAt = this.clock.instant(durationMs(delay.by ?? '1m', 'by'));
    const reorder = faults.get('reorder');
    if (reorder && ![...this.waiting()].some((waiting) => waiting.held)) {
      callback.held = true;
      callback.nextTryAt = this.clock.instant(durationMs(reorder.within ?? '1m', 'within'));
    }
    if (faults.has('drop')) Object.assign(callback, { state: 'dropped', nextTryAt: null, held: false });
    const duplicate = faults.get('duplicate');
    const copies = Array.from({ length: duplicate ? (duplicate.copies ?? 1) : 0 }, () => ({
      ...callback,
      id: randomId(),
      kind: 'duplicate' as const,
    }));
    const forge = faults.get('forge');
    const forged = forge ? [this.makeForged(shop, bill, payment, forge.set)] : [];
    return [...forged, callback, ...copies];
  }

  replay(id: string, set: Record<string, string> = {}, resign = false, format?: Shop['postbackFormat']): Callback {
    const original = this.store.callbacks.get(id);
    if (!original) throw new SandboxError(404, `Unknown callback ${id}`);
    const shop = this.shopOf(original.billId);
    const fields = { ...original.fields, ...set };
    const callback = {
      ...this.make(original.billId, original.paymentId, 'replay', resign ? signFields(fields, shop) : fields),
      ...(format && { format }),
    };
    this.store.commit({ callback });
    return callback;
  }

  /** The Status is SUCCESS unless `set` says otherwise. */
  forge(bill: Bill, set?: Record<string, string>): Callback {
    const callback = this.makeForged(this.shopOf(bill.id), bill, this.store.paymentsOf(bill.id).at(-1), set);
    this.store.commit({ callback });
    return callback;
  }

  /** When the next attempt can start; undefined if none is left or too many are in flight. */
  nextDueAt(): number | undefined {
    if (this.inFlight.size >= MAX_IN_FLIGHT) return undefined;
    return earliest(this.waiting(), (callback) => callback.nextTryAt);
  }

  startDue(): void {
    const now = this.clock.instant();
    for (const callback of this.waiting()) {
      if (this.inFlight.size >= MAX_IN_FLIGHT || this.shutdown.signal.aborted) return;
      if (callback.nextTryAt === null || callback.nextTryAt > now) continue;
      const ended = this.tryOnce(callback.id).finally(() => {
        this.inFlight.delete(callback.id);
        this.ended();
      });
      this.inFlight.set(callback.id, ended);
    }
  }

  /** Calls `listener` when an attempt has ended: its callback may then be due again. */
  onEnded(listener: () => void): void {
    this.ended = listener;
  }

  /** None of them rejects. */
  attemptsInFlight(): Promise<void>[] {
    return [...this.inFlight.values()];
  }

  /** Aborts the attempts in flight without counting them: a restart makes them again. */
  async close(): Promise<void> {
    this.shutdown.abort();
    await Promise.all(this.attemptsInFlight());
  }

  private *waiting(): Iterable<Callback> {
    for (const id of this.store.pending) {
      const callback = this.store.callbacks.get(id);
      if (callback && !this.inFlight.has(id)) yield callback;
    }
  }

  private async tryOnce(id: string): Promise<void> {
    const callback = this.store.callbacks.get(id);
    if (!callback) return;
    // Uses the shop's present address: a shop that has moved gets redeliveries at its new address.
    const shop = this.shopOf(callback.billId);
    const url = shop.resultUrl;
    const format = callback.format ?? shop.postbackFormat;
    const at = this.clock.instant();
    const started = performance.now();
    const answer = url === null ? noAnswer('the shop has no Result URL') : await this.send(url, callback, format);
    if (this.shutdown.signal.aborted) return;
    const durationMs = Math.round(performance.now() - started);
    const { status, body, error } = answer;
    const callbackTry = { at, url: url ?? '', format, status, body, error, durationMs };
    const attempt = url === null ? undefined : { shop, url, format, fields: callback.fields, answer };
    const index = callback.tries.length;
    this.record({ ...callback, tries: [...callback.tries, { ...callbackTry, ...(attempt && adviceFor(attempt)) }] });
    if (attempt && this.options.diagnose && !isForged(attempt)) await this.diagnose(id, index, attempt);
    this.logTry(id, index);
  }

  private async diagnose(id: string, index: number, attempt: PostAttempt): Promise<void> {
    const advice = adviceFor(attempt, await this.probes.find(attempt, this.shutdown.signal));
    const callback = this.store.callbacks.get(id);
    const callbackTry = callback?.tries[index];
    if (!callback || !callbackTry || this.shutdown.signal.aborted || advice?.advice === callbackTry.advice) return;
    const { advice: _before, remedy: _withIt, ...plain } = callbackTry;
    this.store.commit({ callback: { ...callback, tries: callback.tries.with(index, { ...plain, ...advice }) } });
  }

  private logTry(id: string, index: number): void {
    const callback = this.store.callbacks.get(id);
    const callbackTry = callback?.tries[index];
    if (!callback || !callbackTry) return;
    const { InvId = '', Status = '' } = callback.fields;
    const subject = ['postback', this.shopOf(callback.billId).id, InvId, Status].filter(Boolean).join(' ');
    const outcome = [callbackTry.status ?? callbackTry.error, callbackTry.advice]
      .filter((part) => part !== undefined)
      .join(', ');
    const problem = callbackTry.status !== 200 || callbackTry.advice !== undefined;
    this.options.log?.({ at: callbackTry.at, text: oneLine(`${subject}: ${outcome}`), problem });
  }

  private async send(url: string, callback: Callback, format: Shop['postbackFormat']): Promise<PostAnswer> {
    try {
      await this.store.durable(); // send nothing that a kill could undo
    } catch (error) {
      return noAnswer(String(error));
    }
    const { type, text } = postbackBody(callback.fields, format);
    return post(url, type, text, this.timeoutMs, this.shutdown.signal);
  }

  private record(callback: Callback): void {
    const delivered = callback.tries.at(-1)?.status === 200;
    const delay = this.retryDelaysMs[callback.tries.length - 1];
    const next: Callback = { ...callback, held: false };
    if (delivered || delay === undefined) {
      next.state = delivered ? 'delivered' : 'givenUp';
      next.nextTryAt = null;
    } else {
      next.nextTryAt = this.clock.instant(delay);
    }
    this.store.commit({ callback: next }, ...this.releaseOvertaken(callback));
  }

  /** Releases the callbacks that were held back until a later one had gone out, now that `by` has. */
  private releaseOvertaken(by: Callback): { callback: Callback }[] {
    if (by.kind !== 'postback') return [];
    return [...this.waiting()]
      .filter((held) => held.held && held.id !== by.id && held.createdAt <= by.createdAt)
      .map((held) => ({ callback: { ...held, held: false, nextTryAt: this.clock.instant() } }));
  }

  private make(
    billId: string,
    paymentId: string | null,
    kind: Callback['kind'],
    fields: Record<string, string>,
  ): Callback {
    const now = this.clock.instant();
    return {
      id: randomId(),
      billId,
      paymentId,
      kind,
      fields,
      state: 'pending',
      createdAt: now,
      nextTryAt: now,
      held: false,
      tries: [],
    };
  }

  /** A postback as a payer could forge it: with the digest of the payer's own redirect, which does not cover Status. */
  private makeForged(shop: Shop, bill: Bill, payment: Payment | undefined, set?: Record<string, string>): Callback {
    const fields = {
      Status: 'SUCCESS',
      InvId: bill.orderId,
      Commission: '0.00',
      CurrencyIn: payment?.currency ?? bill.currency,
      OutSum: payment?.amount ?? bill.amount,
      TrsId: bill.id,
      ...(bill.custom === null ? {} : { custom: bill.custom }),
    };
    return this.make(bill.id, payment?.id ?? null, 'forged', { ...signFields(fields, shop), ...set });
  }

  private shopOf(billId: string): Shop {
    const shop = this.store.shops.get(this.store.bills.get(billId)?.shopId ?? '');
    if (!shop) throw new Error(`Bill ${billId} has no shop`);
    return shop;
  }
}
