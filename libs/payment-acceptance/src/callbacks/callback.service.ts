import { Inject, Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import { parseAmount } from '../common/money.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { isUuid, PaymentRandom } from '../common/random.js';
import { within } from '../common/time-limit.js';
import type { ForwardedPostback } from '../config/forward.types.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import type { PaymentResult } from '../config/result-page.types.js';
import { BillStore, type BillRecord } from '../storage/bill.store.js';
import { CallbackStore, type NewCallback } from '../storage/callback.store.js';
import { ResultStore } from '../storage/result.store.js';
import { CallbackWatch, type Seen } from './callback-watch.js';
import { PostbackDto, RedirectDto } from './callback.dto.js';
import { Forwarder, type Forwarded } from './forwarder.js';
import { parseBody, type FieldError } from './parse-body.js';
import { maskCards, redactFields } from './redact.js';
import { issueTicket, readTicket } from './result-ticket.js';
import { checkSignature } from './signature.js';

/** How a postback came, as far as an older integration may want to know it. */
export type Transmission = Pick<ForwardedPostback, 'rawBody' | 'contentType'>;

/** What to answer a postback. */
export type PostbackAnswer =
  | { readonly kind: 'stored' }
  | { readonly kind: 'malformed'; readonly errors: readonly FieldError[] }
  | { readonly kind: 'refused' }
  | { readonly kind: 'not-stored' };

/** What to answer the payer's redirect. */
export type RedirectAnswer =
  | { readonly kind: 'result'; readonly ticket: string }
  | { readonly kind: 'neutral'; readonly orderId: string }
  | { readonly kind: 'malformed'; readonly errors: readonly FieldError[] }
  | { readonly kind: 'refused' }
  | { readonly kind: 'not-stored' };

/**
 * Receives redirects and postbacks. A callback is only a hint: it becomes a row that asks for a check of its bill, and
 * changes no payment, no bill and no order.
 */
@Injectable()
export class CallbackService {
  private readonly logger = new PaymentLogger('PaymentCallbacks');
  /** Called after a hint was stored, so that its check need not wait for a poll. */
  onHint: (() => void) | undefined;

  constructor(
    private readonly callbacks: CallbackStore,
    private readonly bills: BillStore,
    private readonly results: ResultStore,
    private readonly forwarder: Forwarder,
    private readonly watch: CallbackWatch,
    private readonly clock: PaymentClock,
    private readonly random: PaymentRandom,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /** Stores a postback (section 4.4). Its bill is the one its `TrsId` names among our own, and no other field decides. */
  postback(shop: Shop, body: unknown, transmission: Transmission = {}): Promise<PostbackAnswer> {
    return this.watch.run(shop.name, 'postback', (seen) => this.takePostback(shop, body, transmission, seen));
  }

  private async takePostback(
    shop: Shop,
    body: unknown,
    transmission: Transmission,
    seen: Seen,
  ): Promise<PostbackAnswer> {
    const parsed = parseBody(PostbackDto, body);
    if ('errors' in parsed) return { kind: 'malformed', errors: parsed.errors };
    const postback = parsed.value;
    const digest = checkSignature(shop, postback.OutSum, postback.InvId, postback.SignatureValue);
    seen.digest = digest;
    if (this.options.callbacks.requirePostbackDigest && digest !== 'match') {
      this.logger.warn(`A postback for shop "${shop.name}" was refused: its digest is ${digest}.`, {
        shop: shop.name,
        callback: 'postback',
      });
      return { kind: 'refused' };
    }
    const named = { billId: cleanId(postback.TrsId), orderId: cleanId(postback.InvId) };
    const raw = body as Readonly<Record<string, unknown>>;
    const offered = await this.offer({ shop: shop.name, ...named, digest, body: raw, ...transmission });
    if (offered === 'failed') return { kind: 'not-stored' };
    return this.store(
      {
        id: this.random.uuid(),
        kind: 'postback',
        shop: shop.name,
        billId: null,
        serviceBillId: named.billId,
        orderId: named.orderId,
        keptOrderId: maskCards(named.orderId),
        status: maskCards(cleanId(postback.Status)),
        digest,
        ...told(postback),
        fields: redactFields(raw),
        forwarded: offered === 'accepted',
      },
      seen,
    );
  }

  private async offer(postback: ForwardedPostback): Promise<Forwarded> {
    try {
      return await this.forwarder.offer(postback);
    } catch (error) {
      this.logger.error(`Whose a postback for shop "${postback.shop}" is could not be read. ${describeError(error)}`, {
        shop: postback.shop,
        callback: 'postback',
        error: errorType(error),
      });
      return 'failed';
    }
  }

  /**
   * Takes the payer's redirect (section 4.3). It carries no bill id: with a valid digest the bill is the one whose
   * intent's random id came back in `custom`, else the latest of the order. Without a digest nothing is looked up.
   */
  redirect(shop: Shop, kind: 'redirect-success' | 'redirect-fail', body: unknown): Promise<RedirectAnswer> {
    return this.watch.run(shop.name, kind, (seen) => this.takeRedirect(shop, kind, body, seen));
  }

  private async takeRedirect(
    shop: Shop,
    kind: 'redirect-success' | 'redirect-fail',
    body: unknown,
    seen: Seen,
  ): Promise<RedirectAnswer> {
    const parsed = parseBody(RedirectDto, body);
    if ('errors' in parsed) return { kind: 'malformed', errors: parsed.errors };
    const redirect = parsed.value;
    const digest = checkSignature(shop, redirect.OutSum, redirect.InvId, redirect.SignatureValue);
    seen.digest = digest;
    if (digest === 'absent') return { kind: 'neutral', orderId: redirect.InvId };
    if (digest === 'mismatch') return { kind: 'refused' };
    try {
      const bill = await within(this.options.callbacks.storeTimeoutMs, this.billOf(shop, redirect));
      if (!bill) return { kind: 'neutral', orderId: redirect.InvId };
      const stored = await this.store(
        {
          id: this.random.uuid(),
          kind,
          shop: shop.name,
          billId: bill.id,
          serviceBillId: null,
          orderId: bill.orderId,
          keptOrderId: bill.orderId,
          status: null,
          digest,
          ...told(redirect),
          fields: redactFields(body as object),
        },
        seen,
      );
      if (stored.kind !== 'stored') return stored;
      const expiresAt = new Date(this.clock.now().getTime() + this.options.callbacks.resultTicketMs);
      return { kind: 'result', ticket: issueTicket(shop, bill.id, expiresAt) };
    } catch (error) {
      this.logger.error(`A redirect for shop "${shop.name}" could not be stored. ${describeError(error)}`, {
        shop: shop.name,
        callback: kind,
        error: errorType(error),
      });
      return { kind: 'not-stored' };
    }
  }

  /** What the payer of that ticket is told: stored state only. `undefined` for a ticket that is no good. */
  async result(ticket: string): Promise<PaymentResult | undefined> {
    for (const shop of this.options.shops.values()) {
      const id = readTicket(shop, ticket, this.clock.now());
      const { storeTimeoutMs } = this.options.callbacks;
      const bill = id === undefined ? undefined : await within(storeTimeoutMs, this.bills.byId(id));
      if (!bill || bill.shop !== shop.name) continue;
      return {
        shop: shop.name,
        orderId: bill.orderId,
        result: await this.awaitResult(bill.id),
        amount: bill.amount,
        currency: bill.currency,
      };
    }
    return undefined;
  }

  /** Waits a moment for the check that the redirect asked for, so that the payer usually sees the final result. */
  private async awaitResult(billId: string): Promise<PaymentResult['result']> {
    const deadline = Date.now() + this.options.callbacks.resultWaitMs;
    for (;;) {
      const result = await this.results.ofBill(billId);
      if (result !== 'pending' || Date.now() >= deadline) return result;
      await sleep(Math.min(RESULT_POLL_MS, Math.max(0, deadline - Date.now())));
    }
  }

  private async store(callback: NewCallback, seen: Seen): Promise<{ kind: 'stored' } | { kind: 'not-stored' }> {
    const about = { shop: callback.shop, callback: callback.kind };
    try {
      const { maxUnmatched, storeTimeoutMs } = this.options.callbacks;
      const recorded = await within(storeTimeoutMs, this.callbacks.record(callback, maxUnmatched));
      if (recorded === 'full') {
        this.logger.error(
          `Too many postbacks name no bill of ours; one for shop "${callback.shop}" was turned away.`,
          about,
        );
        return { kind: 'not-stored' };
      }
      if (recorded === 'matched') this.onHint?.();
      seen.id = callback.id;
      seen.outcome = recorded === 'unmatched' && callback.forwarded ? 'forwarded' : recorded;
      return { kind: 'stored' };
    } catch (error) {
      this.logger.error(`A callback for shop "${callback.shop}" could not be stored. ${describeError(error)}`, {
        ...about,
        error: errorType(error),
      });
      return { kind: 'not-stored' };
    }
  }

  private async billOf(shop: Shop, { InvId, custom }: RedirectDto): Promise<BillRecord | undefined> {
    if (custom !== undefined && isUuid(custom)) {
      const own = await this.bills.byId(custom);
      if (own?.shop === shop.name && own.orderId === InvId) return own;
    }
    return InvId.includes('\0') ? undefined : this.bills.latestOfOrder(shop.name, InvId);
  }
}

/** How often the result page looks again while it waits. */
const RESULT_POLL_MS = 100;

/** What a callback claims, to be held against our bill. */
function told(callback: RedirectDto | PostbackDto): Pick<NewCallback, 'amount' | 'currency' | 'custom'> {
  return {
    amount: parseAmount(callback.OutSum),
    currency: callback.CurrencyIn === undefined ? null : cleanId(callback.CurrencyIn),
    custom: callback.custom === undefined ? null : cleanId(callback.custom),
  };
}

/** A database text holds neither NUL nor half a surrogate pair; no id of ours has either. */
function cleanId(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}
