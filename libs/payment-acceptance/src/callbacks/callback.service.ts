import { Inject, Injectable } from '@nestjs/common';
import { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import { GroupCommitFullError } from '../common/group-commit.js';
import { PaymentLogger, type LogFields } from '../common/payment-logger.js';
import { PaymentRandom, timeOrderedUuid } from '../common/random.js';
import { maskCards, redactFields } from '../common/redact.js';
import { WakeUps } from '../common/wake-ups.js';
import { RateLimitedLog } from '../common/rate-limited-log.js';
import { cleanLine, databaseText } from '../common/text.js';
import { withTimeout } from '../common/timeout.js';
import type { ForwardedPostback } from '../config/hooks.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import type { BillRecord } from '../domain/bill.js';
import type { CallbackKind, DigestCheck } from '../domain/callback.js';
import { parseAmount } from '../domain/money.js';
import { isUuid } from '../domain/uuid.js';
import { BillStore } from '../storage/bill.store.js';
import type { NewCallback, Recorded } from '../storage/callback.store.js';
import { AwaitedResults } from './awaited-results.js';
import { CallbackWatch, type RecordedCallback } from './callback-watch.js';
import {
  INVALID,
  malformed,
  NOT_STORED,
  REFUSED,
  STORED,
  TOO_MANY_AT_ONCE,
  UNKNOWN_SHOP,
  type NotStored,
  type PostbackAnswer,
  type RedirectAnswer,
  type ResultAnswer,
} from './callback.answers.js';
import { MAX_CURRENCY_LENGTH, MAX_CUSTOM_LENGTH, PostbackDto, RedirectDto } from './callback.dto.js';
import { Forwarder } from './forwarder.js';
import { CallbackJournal } from './journal.js';
import { DroppedCallbacks } from './dropped-callbacks.js';
import { parseBody } from './parse-body.js';
import { intentIdOf, issueTicket, readTicket } from './result-ticket.js';
import { checkSignature } from './signature.js';

/** How a postback came, as far as an older integration may want to know it. */
export type Transmission = Pick<ForwardedPostback, 'rawBody' | 'contentType'>;

/**
 * Receives redirects and postbacks: what the callback routes call, and the host's own controllers where those are
 * switched off. A callback is only a hint: it becomes a row that asks for a check of its bill, and changes no payment, no
 * bill and no order. Nothing here throws: each answer has its status.
 */
@Injectable()
export class PaymentCallbacks {
  private readonly logger = new PaymentLogger('PaymentCallbacks');
  private readonly rateLimited: RateLimitedLog;

  /** @internal */
  constructor(
    private readonly journal: CallbackJournal,
    private readonly bills: BillStore,
    private readonly results: AwaitedResults,
    private readonly overload: DroppedCallbacks,
    private readonly forwarder: Forwarder,
    private readonly watch: CallbackWatch,
    private readonly shops: ShopRegistry,
    private readonly clock: PaymentClock,
    private readonly random: PaymentRandom,
    private readonly wakeUps: WakeUps,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {
    this.rateLimited = new RateLimitedLog(this.logger, clock);
  }

  /**
   * Stores a postback (section 4.4). Its bill is the one its `TrsId` names among our own, and no other field decides.
   * @param shop name of the shop; `undefined` for the default one
   * @param body the form or the JSON object as the host's body parser read it
   * @param transmission for `callbacks.forwardUnknown`
   */
  postback(shop: string | undefined, body: unknown, transmission: Transmission = {}): Promise<PostbackAnswer> {
    return this.receive('postback', shop, (found, seen) => this.takePostback(found, body, transmission, seen));
  }

  private async takePostback(
    shop: Shop,
    body: unknown,
    transmission: Transmission,
    seen: RecordedCallback,
  ): Promise<PostbackAnswer> {
    const parsed = parseBody(PostbackDto, body);
    if ('errors' in parsed) return malformed(parsed.errors);
    const postback = parsed.value;
    const digest = this.checkedDigest(shop, postback) ?? (await this.checkDigestWithFreshToken(shop, postback));
    seen.digest = digest;
    if (this.options.callbacks.requirePostbackDigest && digest !== 'match') {
      this.overload.count('refusedPostbacks', shop.name);
      return REFUSED;
    }
    const named = { billId: databaseText(postback.TrsId), orderId: databaseText(postback.InvId) };
    const raw = body as Readonly<Record<string, unknown>>;
    const offered = this.options.callbacks.forwardUnknown
      ? await this.forwarder.offer({ shop: shop.name, ...named, digest, body: raw, ...transmission })
      : 'own';
    if (offered === 'failed') return NOT_STORED;
    return this.store(
      {
        id: timeOrderedUuid(this.random, this.clock.now()),
        kind: 'postback',
        shop: shop.name,
        intentId: null,
        billId: named.billId,
        orderId: named.orderId,
        maskedOrderId: maskCards(named.orderId),
        status: maskCards(databaseText(postback.Status)),
        digest,
        ...comparedFields(postback),
        fields: redactFields(raw),
        forwarded: offered === 'accepted',
      },
      seen,
    );
  }

  /**
   * Takes the payer's redirect (section 4.3). It carries no bill id: with a valid digest the bill is the one whose
   * intent's random id came back in `custom`, else the latest of the order. Without a digest nothing is looked up.
   * @param to the address it came to: the shop's Success URL or Fail URL
   * @param shop name of the shop; `undefined` for the default one
   * @param body the form as the host's body parser read it
   */
  redirect(to: 'success' | 'fail', shop: string | undefined, body: unknown): Promise<RedirectAnswer> {
    const kind = `redirect-${to}` as const;
    return this.receive(kind, shop, (found, seen) => this.takeRedirect(found, kind, body, seen));
  }

  private async takeRedirect(
    shop: Shop,
    kind: 'redirect-success' | 'redirect-fail',
    body: unknown,
    seen: RecordedCallback,
  ): Promise<RedirectAnswer> {
    const parsed = parseBody(RedirectDto, body);
    if ('errors' in parsed) return malformed(parsed.errors);
    const redirect = parsed.value;
    const neutral = { kind: 'neutral', status: 200, orderId: redirect.InvId } as const;
    const digest = this.checkedDigest(shop, redirect) ?? (await this.checkDigestWithFreshToken(shop, redirect));
    seen.digest = digest;
    if (digest === 'absent') return neutral;
    if (digest === 'mismatch') return REFUSED;
    const bill = await withTimeout(this.options.callbacks.storeTimeoutMs, this.billOf(shop, redirect));
    if (!bill) return neutral;
    const stored = await this.store(
      {
        id: timeOrderedUuid(this.random, this.clock.now()),
        kind,
        shop: shop.name,
        intentId: bill.intentId,
        billId: null,
        orderId: bill.orderId,
        maskedOrderId: bill.orderId,
        status: null,
        digest,
        ...comparedFields(redirect),
        fields: redactFields(body as object),
      },
      seen,
    );
    if (stored.kind !== 'stored') return stored;
    const expiresAt = new Date(this.clock.now().getTime() + this.options.callbacks.resultTicketMs);
    // By the token of now: that of a moment ago may have been replaced, and other instances know only the new one.
    const now = this.shops.peek(shop.name) ?? shop;
    return { kind: 'result', status: 303, ticket: issueTicket(now, bill.intentId, expiresAt) };
  }

  /** What the payer of that ticket is told: stored state only. */
  async result(ticket: string): Promise<ResultAnswer> {
    try {
      const id = intentIdOf(ticket);
      const bill =
        id === undefined ? undefined : await withTimeout(this.options.callbacks.storeTimeoutMs, this.bills.byId(id));
      const shop = bill && (await this.shops.find(bill.shop));
      if (!bill || !shop) return INVALID;
      const now = this.clock.now();
      if (!(await this.shops.findMatching(shop, (as) => readTicket(as, ticket, now) === bill.intentId))) return INVALID;
      const { orderId, amount, currency } = bill;
      const result = await this.results.waitFor(bill.shop, bill.intentId);
      return { kind: 'shown', status: 200, result: { shop: bill.shop, orderId, result, amount, currency } };
    } catch (error) {
      return this.answerRetryLater('A result could not be read.', {}, error);
    }
  }

  private async receive<T extends { readonly kind: string }>(
    kind: CallbackKind,
    name: string = this.shops.defaultName,
    take: (shop: Shop, seen: RecordedCallback) => Promise<T>,
  ): Promise<T | typeof UNKNOWN_SHOP | typeof NOT_STORED> {
    const comeAgain = (error: unknown) => {
      const shown = cleanLine(name);
      const about = { shop: shown, callback: kind };
      return this.answerRetryLater(`A callback for shop "${shown}" could not be stored.`, about, error);
    };
    try {
      const shop = this.shops.configuredShop(name) ?? (await this.shops.findRequested(name));
      if (shop === 'busy') {
        this.overload.count('unaskedShops', null);
        return NOT_STORED;
      }
      // Watched from here on: names that somebody makes up shall not become attributes of metrics.
      if (!shop) return UNKNOWN_SHOP;
      return await this.watch.run(shop.name, kind, (seen) => take(shop, seen), comeAgain);
    } catch (error) {
      return comeAgain(error);
    }
  }

  /** Whatever fails here is our own trouble, a shop resolver's included. */
  private answerRetryLater(sentence: string, about: LogFields, error: unknown): typeof NOT_STORED {
    const type = errorType(error);
    const line = (leftOut: string): string => `${sentence}${leftOut} ${describeError(error)}`;
    this.rateLimited.error(`${about.callback ?? ''} ${type}`, line, { ...about, error: type });
    return NOT_STORED;
  }

  /** `undefined` where it does not match: the shop's token may have been changed. */
  private checkedDigest(shop: Shop, { OutSum, InvId, SignatureValue }: RedirectDto | PostbackDto) {
    const check = checkSignature(shop, OutSum, InvId, SignatureValue);
    return check === 'mismatch' ? undefined : check;
  }

  private async checkDigestWithFreshToken(shop: Shop, callback: RedirectDto | PostbackDto): Promise<DigestCheck> {
    const holds = (as: Shop) => as !== shop && this.checkedDigest(as, callback) !== undefined;
    return (await this.shops.findMatching(shop, holds)) ? 'match' : 'mismatch';
  }

  private async store(callback: NewCallback, seen: RecordedCallback): Promise<typeof STORED | NotStored> {
    let recorded: Recorded;
    try {
      recorded = await this.journal.record(callback);
    } catch (error) {
      if (!(error instanceof GroupCommitFullError)) throw error;
      this.overload.count('delayedCallbacks', callback.shop);
      return TOO_MANY_AT_ONCE;
    }
    if (recorded === 'full' && callback.forwarded) {
      // It was taken there. Should it be of a bill of ours that is still being created, that is checked by its schedule.
      this.overload.count('unrecordedForwards', callback.shop);
      seen.outcome = 'forwarded';
      return STORED;
    }
    if (recorded === 'full') {
      this.overload.count('unmatchedPostbacks', callback.shop);
      return NOT_STORED;
    }
    if (recorded === 'repeated') {
      this.overload.count('repeatedCallbacks', callback.shop);
      seen.outcome = recorded;
      return STORED;
    }
    if (recorded === 'matched') this.wakeUps.tell('hint');
    seen.id = callback.id;
    seen.outcome = recorded === 'unmatched' && callback.forwarded ? 'forwarded' : recorded;
    return STORED;
  }

  private async billOf(shop: Shop, { InvId, custom }: RedirectDto): Promise<BillRecord | undefined> {
    if (custom !== undefined && isUuid(custom)) {
      const own = await this.bills.byId(custom);
      if (own?.shop === shop.name && own.orderId === InvId) return own;
    }
    return InvId.includes('\0') ? undefined : this.bills.latestOfOrder(shop.name, InvId);
  }
}

/** What a callback says, to be held against our bill. */
function comparedFields(callback: RedirectDto | PostbackDto): Pick<NewCallback, 'amount' | 'currency' | 'custom'> {
  return {
    amount: parseAmount(callback.OutSum),
    currency: comparable(callback.CurrencyIn, MAX_CURRENCY_LENGTH),
    custom: comparable(callback.custom, MAX_CUSTOM_LENGTH),
  };
}

/** A postback's may be of any length: in place of one that is longer than ours can be goes what agrees with none of ours. */
function comparable(told: string | undefined, longest: number): string | null {
  if (told === undefined) return null;
  return told.length > longest ? ' '.repeat(longest + 1) : databaseText(told);
}
