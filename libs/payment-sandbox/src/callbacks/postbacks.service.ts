import { Inject, Injectable } from '@nestjs/common';
import { found } from '../common/errors.js';
import { randomId } from '../common/ids.js';
import { durationMs, earliest } from '../common/time.js';
import { FaultDice } from '../faults/fault-dice.js';
import type { Bill, Callback, CallbackTry, Instant, Payment, Shop } from '../model/entities.js';
import { oneLine, type PaymentSandboxOptions, SANDBOX_OPTIONS } from '../model/options.js';
import { SandboxClock } from '../storage/sandbox-clock.js';
import { SandboxStore } from '../storage/store.js';
import { adviceFor, isForged, type PostAttempt } from './advice.js';
import { postbackFields, signFields } from './messages.js';
import { noAnswer, post, type PostAnswer } from './post.js';
import { Probes } from './probes.js';

const DEFAULT_RETRY_DELAYS = ['10s', '100s', '1000s', '10000s', '100000s'];
const MAX_IN_FLIGHT = 32;
/** One shop that does not answer leaves the rest to the others. */
const MAX_OF_SHOP = MAX_IN_FLIGHT / 2;

/** Delivers each postback until it is answered with exactly HTTP 200 or no attempt is left. */
@Injectable()
export class PostbacksService {
  private readonly inFlight = new Map<string, Promise<void>>();
  /** How many are in flight for each shop. */
  private readonly ofShop = new Map<string, number>();
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
    const fields = change?.resign ? signFields(changedFields, shop) : changedFields;
    const callback = make(this.clock.instant(), { billId: bill.id, paymentId: payment.id, kind: 'postback', fields });
    const delay = faults.get('delay');
    if (delay) callback.nextTryAt = this.clock.instant(durationMs(delay.by ?? '1m', 'by'));
    const reorder = faults.get('reorder');
    if (reorder && ![...this.waiting()].some((waiting) => waiting.held)) {
      callback.held = true;
      callback.nextTryAt = this.clock.instant(durationMs(reorder.within ?? '1m', 'within'));
    }
    if (faults.has('drop')) Object.assign(callback, { state: 'dropped', nextTryAt: null, held: false });
    const duplicate = faults.get('duplicate');
    const copy = (): Callback => ({ ...callback, id: randomId(), kind: 'duplicate' });
    const copies = Array.from({ length: duplicate ? (duplicate.copies ?? 1) : 0 }, copy);
    const forge = faults.get('forge');
    const forged = forge ? [this.makeForged(shop, bill, payment, forge.set)] : [];
    return [...forged, callback, ...copies];
  }

  replay(id: string, set: Record<string, string> = {}, resign = false, format?: Shop['postbackFormat']): Callback {
    const original = found(this.store.callbacks.get(id), `Unknown callback ${id}`);
    const { billId, paymentId } = original;
    const changed = { ...original.fields, ...set };
    const fields = resign ? signFields(changed, this.store.shopOf(billId)) : changed;
    const replayed = make(this.clock.instant(), { billId, paymentId, kind: 'replay', fields });
    const callback = { ...replayed, ...(format && { format }) };
    this.store.commit({ callback });
    return callback;
  }

  /** The Status is SUCCESS unless `set` says otherwise. */
  forge(bill: Bill, set?: Record<string, string>): Callback {
    const callback = this.makeForged(this.store.shopOf(bill.id), bill, this.store.paymentsOf(bill.id).at(-1), set);
    this.store.commit({ callback });
    return callback;
  }

  /** When the next attempt can start; undefined if none is left or too many are in flight. */
  nextDueAt(): number | undefined {
    if (this.inFlight.size >= MAX_IN_FLIGHT) return undefined;
    return earliest(this.startable(), (callback) => callback.nextTryAt);
  }

  startDue(): void {
    const now = this.clock.instant();
    for (const callback of this.startable()) {
      if (this.inFlight.size >= MAX_IN_FLIGHT || this.shutdown.signal.aborted) return;
      if (callback.nextTryAt === null || callback.nextTryAt > now) continue;
      const { id } = this.store.shopOf(callback.billId);
      const count = (change: number) => this.ofShop.set(id, (this.ofShop.get(id) ?? 0) + change);
      count(1);
      const ended = this.tryOnce(callback).finally(() => {
        this.inFlight.delete(callback.id);
        count(-1);
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

  private *startable(): Iterable<Callback> {
    for (const callback of this.waiting()) {
      if ((this.ofShop.get(this.store.shopOf(callback.billId).id) ?? 0) < MAX_OF_SHOP) yield callback;
    }
  }

  private *waiting(): Iterable<Callback> {
    for (const callback of this.store.pending.values()) if (!this.inFlight.has(callback.id)) yield callback;
  }

  /** Until it ends, nothing else changes the callback. */
  private async tryOnce(callback: Callback): Promise<void> {
    // Uses the shop's present address: a shop that has moved gets redeliveries at its new address.
    const shop = this.store.shopOf(callback.billId);
    const url = shop.resultUrl;
    const format = callback.format ?? shop.postbackFormat;
    const at = this.clock.instant();
    const started = performance.now();
    const answer = url === null ? noAnswer('the shop has no Result URL') : await this.send(url, callback, format);
    if (this.shutdown.signal.aborted) return;
    const durationMs = Math.round(performance.now() - started);
    const { status, body, error } = answer;
    const attempt = url === null ? undefined : { shop, url, format, fields: callback.fields, answer };
    const advice = attempt && adviceFor(attempt);
    const callbackTry = { at, url: url ?? '', format, status, body, error, durationMs, ...advice };
    const recorded = this.record({ ...callback, tries: [...callback.tries, callbackTry] });
    const isDiagnosed = attempt && this.options.diagnose && !isForged(attempt);
    const known = isDiagnosed ? await this.diagnose(recorded, callbackTry, attempt) : callbackTry;
    const { InvId = '', Status = '' } = callback.fields;
    const subject = ['postback', shop.id, InvId, Status].filter(Boolean).join(' ');
    const outcome = [status ?? error, known.advice].filter((part) => part !== undefined).join(', ');
    const problem = status !== 200 || known.advice !== undefined;
    this.options.log?.({ at, text: oneLine(`${subject}: ${outcome}`), problem });
  }

  /** Puts the advice that follows from probes in the place of the advice on the last try. */
  private async diagnose(callback: Callback, lastTry: CallbackTry, attempt: PostAttempt): Promise<CallbackTry> {
    const advice = adviceFor(attempt, await this.probes.find(attempt, this.shutdown.signal));
    if (this.shutdown.signal.aborted || advice?.advice === lastTry.advice) return lastTry;
    const { advice: _before, remedy: _withIt, ...plain } = lastTry;
    const diagnosed = { ...plain, ...advice };
    this.store.commit({ callback: { ...callback, tries: callback.tries.with(-1, diagnosed) } });
    return diagnosed;
  }

  private async send(url: string, callback: Callback, format: Shop['postbackFormat']): Promise<PostAnswer> {
    try {
      await this.store.durable(); // send nothing that a kill could undo
    } catch (error) {
      return noAnswer(String(error));
    }
    return post(url, callback.fields, format, this.timeoutMs, this.shutdown.signal);
  }

  private record(callback: Callback): Callback {
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
    return next;
  }

  /** Releases the callbacks that were held back until a later one had gone out, now that `by` has. */
  private releaseOvertaken(by: Callback): { callback: Callback }[] {
    if (by.kind !== 'postback') return [];
    return [...this.waiting()]
      .filter((held) => held.held && held.id !== by.id && held.createdAt <= by.createdAt)
      .map((held) => ({ callback: { ...held, held: false, nextTryAt: this.clock.instant() } }));
  }

  /** A postback as a payer could forge it: with the digest of the payer's own redirect, which does not cover Status. */
  private makeForged(shop: Shop, bill: Bill, payment: Payment | undefined, set?: Record<string, string>): Callback {
    const { amount, currency } = payment ?? bill;
    const fields = postbackFields(shop, bill, { status: 'SUCCESS', commission: '0.00', amount, currency });
    const subject = { billId: bill.id, paymentId: payment?.id ?? null, kind: 'forged' } as const;
    return make(this.clock.instant(), { ...subject, fields: { ...signFields(fields, shop), ...set } });
  }
}

function make(now: Instant, subject: Pick<Callback, 'billId' | 'paymentId' | 'kind' | 'fields'>): Callback {
  return { id: randomId(), ...subject, state: 'pending', createdAt: now, nextTryAt: now, held: false, tries: [] };
}
