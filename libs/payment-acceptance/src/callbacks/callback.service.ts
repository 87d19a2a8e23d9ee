import { Inject, Injectable } from '@nestjs/common';
import { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import { GroupCommitFullError } from '../common/group-commit.js';
import { PaymentLogger, type LogFields } from '../common/payment-logger.js';
import { PaymentRandom, timeOrderedUuid } from '../common/random.js';
import { WakeUps } from '../common/wake-ups.js';
import { RateLimitedLog } from '../common/rate-limited-log.js';
import { maskCards } from '../common/redact.js';
import { cleanLine } from '../common/text.js';
import { TimeoutError, withTimeout } from '../common/timeout.js';
import { KeyedQueue } from '../common/turns.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import type { CallbackKind, DigestCheck } from '../domain/callback.js';
import { isUuid } from '../domain/uuid.js';
import type { RecordResult } from './storage/callback.store.js';
import { NamedBillStore, type NamedBill } from './storage/named-bill.store.js';
import type { Transmission } from './callback-bodies.js';
import { AwaitedResults } from './awaited-results.js';
import { CallbackWatch, type CallbackNotes } from './callback-watch.js';
import {
  INVALID_ANSWER,
  malformedAnswer,
  NOT_STORED_ANSWER,
  REFUSED_ANSWER,
  STORED_ANSWER,
  OVERLOADED_ANSWER,
  UNKNOWN_SHOP_ANSWER,
  type NotStoredAnswer,
  type PostbackAnswer,
  type RedirectAnswer,
  type ResultAnswer,
} from './callback.answers.js';
import { PostbackDto, RedirectDto, type CallbackType } from './callback.dto.js';
import { postbackRow, redirectRow, type CallbackRow } from './callback-row.js';
import { CallbackJournal } from './journal.js';
import { DroppedCallbacks } from './dropped-callbacks.js';
import { parseBody, readableFields, type FieldError } from './parse-body.js';
import { parseBytes } from './read-body.js';
import { intentIdOf, issueTicket, readTicket } from './result-ticket.js';
import { checkSignature } from './signature.js';

/**
 * Receives redirects and postbacks from the callback routes, or from the host's own controllers if those routes are
 * disabled. A callback is only a hint: it becomes a row that requests a check of its bill, and changes no payment, bill or
 * order. No method throws except `isOurs`: each answer carries the status to send.
 */
@Injectable()
export class PaymentCallbacks {
  private readonly logger = new PaymentLogger('PaymentCallbacks');
  private readonly rateLimited = new RateLimitedLog(this.logger, this.clock);
  private readonly queue = new KeyedQueue();

  /** @internal */
  constructor(
    private readonly journal: CallbackJournal,
    private readonly bills: NamedBillStore,
    private readonly results: AwaitedResults,
    private readonly dropped: DroppedCallbacks,
    private readonly watch: CallbackWatch,
    private readonly shops: ShopRegistry,
    private readonly clock: PaymentClock,
    private readonly random: PaymentRandom,
    private readonly wakeUps: WakeUps,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /**
   * Stores a postback (section 4.4). Its `TrsId` determines the bill, among our own bills. Where no bill has that id, the bill is
   * the one whose intent's random id came back in `custom`, if any (assumed): it is checked, and nothing else follows.
   * @param shop name of the shop; `undefined` for the default one
   * @param body the form or the JSON object as the host's body parser read it, or the text or the bytes of either
   */
  postback(shop: string | undefined, body: unknown, sent: Transmission = {}): Promise<PostbackAnswer> {
    return this.receive('postback', shop, async (foundShop, seen) =>
      this.takePostback(foundShop, await fieldsOf(PostbackDto, body, sent), sent, seen),
    );
  }

  private async takePostback(
    shop: Shop,
    fields: unknown,
    sent: Transmission,
    seen: CallbackNotes,
  ): Promise<PostbackAnswer> {
    const parsed = parseBody(PostbackDto, fields);
    if ('errors' in parsed) return this.refuse(shop, 'postback', fields, sent, parsed.errors);
    const postback = parsed.value;
    const digest = this.checkedDigest(shop, postback) ?? (await this.checkDigestWithFreshToken(shop, postback));
    seen.digest = digest;
    if (this.options.callbacks.requirePostbackDigest && digest !== 'match') {
      this.dropped.count('refusedPostbacks', shop.name);
      return REFUSED_ANSWER;
    }
    const row = postbackRow(shop.name, postback, digest, fields as object);
    const answer = await this.storeNamed(row, seen);
    if (!answer) return this.refuse(shop, 'postback', fields, sent, NO_BILL_ERRORS);
    this.dropped.noteUnderstood(shop.name);
    return answer;
  }

  /** `undefined` if neither `TrsId` nor `custom` can be the id of a bill. */
  private async storeNamed(
    row: CallbackRow,
    seen: CallbackNotes,
  ): Promise<typeof STORED_ANSWER | NotStoredAnswer | undefined> {
    const { billId, custom } = row;
    const answer = billId === null ? undefined : await this.store(row, seen);
    const isUnknown = billId === null || seen.outcome === 'unmatched' || seen.outcome === 'turned-away';
    if (!isUnknown || custom === null || !isUuid(custom)) return answer;
    // The new row is stored beside the one that waits for a bill with that id, since the ledger may have lost that
    // bill.
    const namedBill = await this.billById(custom);
    // Our bill has no id at the service yet and may be the very bill that `TrsId` names: the postback waits for it.
    if (namedBill?.shop !== row.shop || (namedBill.billId === null && billId !== null)) return answer;
    return this.store({ ...row, billId: null, intentId: namedBill.intentId }, seen);
  }

  private billById(intentId: string): Promise<NamedBill | undefined> {
    return withTimeout(this.options.callbacks.storeTimeoutMs, this.bills.byId(intentId));
  }

  /**
   * Whether, by our own records, a bill of the shop has this id at the service; a bill whose creation is not yet answered
   * has none. Stores nothing. For a host's own controller that passes postbacks about other bills on to another integration.
   * @param shop name of the shop; `undefined` for the default one
   * @param billId the `TrsId` of a postback, as it was received
   * @throws PaymentUnknownShopError
   * @throws the database's error: answer 503, so that the postback is sent again
   */
  async isOurs(shop: string | undefined, billId: unknown): Promise<boolean> {
    const name = this.shops.requireName(shop ?? this.shops.defaultName);
    const id = typeof billId === 'number' ? String(billId) : billId;
    if (typeof id !== 'string' || !/^[^\0]+$/.test(id)) return false;
    return withTimeout(this.options.callbacks.storeTimeoutMs, this.bills.isOurs(name, id));
  }

  /**
   * Receives the payer's redirect (section 4.3). It carries no bill id: with a valid digest, the bill is the one whose
   * intent's random id came back in `custom`, else the order's latest. Without a digest, nothing is looked up.
   * @param to whether it came to the shop's Success URL or Fail URL
   * @param shop name of the shop; `undefined` for the default one
   * @param body the form as the host's body parser read it, or its text or bytes
   */
  redirect(
    to: 'success' | 'fail',
    shop: string | undefined,
    body: unknown,
    sent: Transmission = {},
  ): Promise<RedirectAnswer> {
    const kind = `redirect-${to}` as const;
    return this.receive(kind, shop, async (foundShop, seen) =>
      this.takeRedirect(foundShop, kind, await fieldsOf(RedirectDto, body, sent), sent, seen),
    );
  }

  private async takeRedirect(
    shop: Shop,
    kind: 'redirect-success' | 'redirect-fail',
    body: unknown,
    sent: Transmission,
    seen: CallbackNotes,
  ): Promise<RedirectAnswer> {
    const parsed = parseBody(RedirectDto, body);
    if ('errors' in parsed) return this.refuse(shop, kind, body, sent, parsed.errors);
    const redirect = parsed.value;
    this.dropped.noteUnderstood(shop.name);
    const neutral = { kind: 'neutral', status: 200, orderId: redirect.InvId } as const;
    const digest = this.checkedDigest(shop, redirect) ?? (await this.checkDigestWithFreshToken(shop, redirect));
    seen.digest = digest;
    if (digest === 'absent') return neutral;
    if (digest === 'mismatch') return REFUSED_ANSWER;
    const bill = await withTimeout(this.options.callbacks.storeTimeoutMs, this.billOf(shop, redirect));
    if (!bill) return neutral;
    const stored = await this.store(redirectRow(kind, bill, redirect, digest, body as object), seen);
    if (stored.kind !== 'stored') return stored;
    const expiresAt = new Date(this.clock.now().getTime() + this.options.callbacks.resultTicketMs);
    // During a rotation of tokens, other instances may know only the one that signed the redirect. If that has been
    // replaced meanwhile, they may know only the new one.
    const current = this.shops.peek(shop.name) ?? shop;
    const signer = [current.token, ...current.previousTokens].find(
      (token) => this.checkedDigest({ ...current, token, previousTokens: [] }, redirect) === 'match',
    );
    const ticket = issueTicket({ ...current, token: signer ?? current.token }, bill.intentId, expiresAt);
    return { kind: 'result', status: 303, ticket };
  }

  private refuse(
    shop: Shop,
    kind: CallbackKind,
    body: unknown,
    { contentType = 'not known' }: Transmission,
    errors: readonly FieldError[],
  ) {
    this.dropped.noteRefused(shop.name, kind, body, contentType, errors);
    return malformedAnswer(errors);
  }

  /** What the payer with this ticket is shown: stored state only. */
  async result(ticket: string): Promise<ResultAnswer> {
    try {
      const id = intentIdOf(ticket);
      const bill = id === undefined ? undefined : await this.billById(id);
      const shop = bill && (await this.shops.find(bill.shop));
      if (!bill || !shop) return INVALID_ANSWER;
      const now = this.clock.now();
      if (!(await this.shops.findMatching(shop, (as) => readTicket(as, ticket, now) === bill.intentId)))
        return INVALID_ANSWER;
      const shown = await this.results.waitFor(bill.shop, bill.intentId);
      return shown
        ? { kind: 'shown', status: 200, result: { shop: bill.shop, orderId: bill.orderId, ...shown } }
        : INVALID_ANSWER;
    } catch (error) {
      return this.answerRetryLater('result-failed', 'The result that a payer asks for could not be read.', {}, error);
    }
  }

  private async receive<T extends { readonly kind: string }>(
    kind: CallbackKind,
    name: string = this.shops.defaultName,
    take: (shop: Shop, seen: CallbackNotes) => Promise<T>,
  ): Promise<T | typeof UNKNOWN_SHOP_ANSWER | typeof NOT_STORED_ANSWER> {
    const failed = (error: unknown) => {
      const shown = maskCards(cleanLine(name));
      const logFields = { shop: shown, callback: kind };
      const sentence = `A callback for shop "${shown}" could not be stored.`;
      return this.answerRetryLater('callback-not-stored', sentence, logFields, error);
    };
    try {
      const shop = await this.shops.findRequested(name);
      // Watched only from here on: made-up shop names must not become metric attributes.
      if (!shop) return UNKNOWN_SHOP_ANSWER;
      return await this.watch.run(shop.name, kind, (seen) => take(shop, seen).catch(failed));
    } catch (error) {
      return failed(error);
    }
  }

  /** Any failure here is ours, including one of the shop resolver. */
  private answerRetryLater(
    code: 'callback-not-stored' | 'result-failed',
    sentence: string,
    fields: LogFields,
    error: unknown,
  ): typeof NOT_STORED_ANSWER {
    const type = errorType(error);
    const line = (): string => `${sentence} ${describeError(error)}`;
    this.rateLimited.write(code, `${fields.callback ?? ''} ${type}`, line, { ...fields, error: type });
    return NOT_STORED_ANSWER;
  }

  /** `undefined` for a mismatch, which may mean that the shop's token has changed. */
  private checkedDigest(shop: Shop, { OutSum = '', InvId = '', SignatureValue }: RedirectDto | PostbackDto) {
    const check = checkSignature(shop, OutSum, InvId, SignatureValue);
    return check === 'mismatch' ? undefined : check;
  }

  private async checkDigestWithFreshToken(shop: Shop, callback: RedirectDto | PostbackDto): Promise<DigestCheck> {
    const matches = (as: Shop) => as !== shop && this.checkedDigest(as, callback) !== undefined;
    return (await this.shops.findMatching(shop, matches)) ? 'match' : 'mismatch';
  }

  private async store(row: CallbackRow, seen: CallbackNotes): Promise<typeof STORED_ANSWER | NotStoredAnswer> {
    const callback = { id: timeOrderedUuid(this.random, this.clock.now()), ...row };
    let recorded: RecordResult;
    try {
      recorded = await this.journal.record(callback);
    } catch (error) {
      if (!(error instanceof GroupCommitFullError)) throw error;
      this.dropped.count('delayedCallbacks', callback.shop);
      return OVERLOADED_ANSWER;
    }
    if (recorded === 'full') {
      this.dropped.count('unmatchedPostbacks', callback.shop);
      // Anybody can cause this, so it must not look like a failure of ours.
      seen.outcome = 'turned-away';
      return NOT_STORED_ANSWER;
    }
    if (recorded === 'repeated') {
      this.dropped.count('repeatedCallbacks', callback.shop);
      seen.outcome = recorded;
      return STORED_ANSWER;
    }
    if (recorded === 'matched') this.wakeUps.notify('hint');
    seen.id = callback.id;
    seen.outcome = recorded;
    return STORED_ANSWER;
  }

  private async billOf(shop: Shop, { InvId, custom }: RedirectDto): Promise<NamedBill | undefined> {
    if (custom !== undefined && isUuid(custom)) {
      const namedBill = await this.bills.byId(custom);
      if (namedBill?.shop === shop.name && namedBill.orderId === InvId) return namedBill;
    }
    if (InvId.includes('\0')) return undefined;
    // Whoever has one genuine redirect can send it any number of times, so look-ups of one order take turns.
    const look = async () => ({ latest: await this.bills.latestOfOrder(shop.name, InvId) });
    const looked = await this.queue.run(
      JSON.stringify([shop.name, InvId]),
      look,
      this.options.callbacks.storeTimeoutMs,
    );
    if (!looked) throw new TimeoutError('Too many simultaneous redirects for one order.');
    return looked.latest;
  }
}

async function fieldsOf(type: CallbackType, body: unknown, sent: Transmission): Promise<unknown> {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return readableFields(type, body, sent.bytes);
  const { fields, bytes } = await parseBytes(body, sent);
  return readableFields(type, fields, bytes);
}

const NO_BILL_ERRORS: readonly FieldError[] = [
  {
    field: 'TrsId',
    errors: ['TrsId must be 1 to 128 characters, or custom must be the id that was sent with the bill'],
  },
];
