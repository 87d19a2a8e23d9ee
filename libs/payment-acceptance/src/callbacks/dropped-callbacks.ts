import { Injectable } from '@nestjs/common';
import { PaymentClock } from '../common/clock.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { RateLimitedLog } from '../common/rate-limited-log.js';
import type { CallbackKind } from '../domain/callback.js';
import type { FieldError } from './parse-body.js';
import { UnreadableBody } from './read-body.js';

/** Callbacks that this instance has rejected or not recorded since it started, and result pages that did not wait, by cause. */
export interface DroppedCounts {
  /** Callbacks answered 503 without being stored, because 5,000 callbacks wait for the database. */
  readonly delayedCallbacks: number;
  /**
   * Callbacks answered as stored without a record, because another callback of the same bill already waits for the same
   * check.
   */
  readonly repeatedCallbacks: number;
  /** Postbacks for unknown bills answered 503, because 20,000 of them wait. */
  readonly unmatchedPostbacks: number;
  /** Callbacks answered by the application before they reached the module, for example by a guard or a rate limit. Not counted for any shop. */
  readonly unseenCallbacks: number;
  /** Callbacks answered 400 because they do not match the specification. The log shows what they look like. */
  readonly malformedCallbacks: number;
  /** Postbacks refused for their digest because of `callbacks.requirePostbackDigest`. */
  readonly refusedPostbacks: number;
  /** Result pages shown without waiting, because 200 pages wait. */
  readonly unawaitedResults: number;
}

export type DropKind = keyof DroppedCounts;

/** Kinds that share the log line `callbacks-bounded`. */
type CountedDropKind = Exclude<DropKind, 'malformedCallbacks' | 'unseenCallbacks'>;

const LOG_MESSAGES: Readonly<Record<CountedDropKind, string>> = {
  delayedCallbacks:
    'Callbacks arrive faster than the database can store them; further ones get 503, and the sender retries them.',
  repeatedCallbacks: 'A bill has 100 callbacks; repeats of one still pending are not recorded.',
  unmatchedPostbacks: 'Too many postbacks name none of our bills; further ones are rejected with 503.',
  refusedPostbacks: 'Postbacks are refused: their digest is missing or does not match.',
  unawaitedResults: 'Too many result pages are waiting for a check; further ones are shown immediately.',
};

const NO_DROPS: DroppedCounts = {
  delayedCallbacks: 0,
  repeatedCallbacks: 0,
  unmatchedPostbacks: 0,
  unseenCallbacks: 0,
  malformedCallbacks: 0,
  refusedPostbacks: 0,
  unawaitedResults: 0,
};

/** The key of counts that belong to no shop: no shop has this name. */
const NO_SHOP = '';

/** At most one line per kind and shop in this time, so that outsiders cannot fill the log. */
const LOG_INTERVAL_MS = 60_000;

/**
 * This many refusals in a row for one shop, each within an hour of the one before and with no callback understood in
 * between, are more than a stray attempt.
 */
const REFUSALS_IN_A_ROW = 3;
const REFUSAL_MEMORY_MS = 3_600_000;

/** Only plain names of fields are shown: a sender may have put anything into the others. */
const MAX_NAMES = 20;
const PLAIN_NAME_PATTERN = /^[A-Za-z_][A-Za-z_.[\]-]{0,39}$/;
const PLAIN_TYPE_PATTERN = /^[a-z]{1,20}\/[a-z.+-]{1,60}(?:; ?charset=[\w-]{1,20})?$/i;

@Injectable()
export class DroppedCallbacks {
  private readonly byShop = new Map<string, DroppedCounts>();
  private readonly log = new RateLimitedLog(new PaymentLogger('PaymentCallbacks'), this.clock, LOG_INTERVAL_MS);
  private readonly refusedInARow = new Map<string, { readonly count: number; readonly at: number }>();

  constructor(private readonly clock: PaymentClock) {}

  /** @param shop name of a known shop; never a made-up name */
  count(kind: CountedDropKind, shop: string): void {
    const counts = this.add(kind, shop);
    const line = (): string => `${LOG_MESSAGES[kind]} Count for shop "${shop}" since startup: ${counts[kind]}.`;
    this.log.write('callbacks-bounded', `${kind} ${shop}`, line, { dropped: kind, shop });
  }

  /** Says what a callback that was answered 400 looked like, with none of its values. */
  noteRefused(
    shop: string,
    kind: CallbackKind,
    body: unknown,
    contentType: string,
    errors: readonly FieldError[],
  ): void {
    this.add('malformedCallbacks', shop);
    this.remember(shop);
    const line = (): string =>
      `A callback (${kind}) of shop "${shop}" was refused with 400, and none of it is stored: ` +
      `${errors.flatMap((each) => each.errors.map((error) => `${each.field}: ${error}`)).join('; ')}. It arrived as ` +
      `${PLAIN_TYPE_PATTERN.test(contentType) ? `"${contentType}"` : 'another content type'} with ${shapeOf(body)}. Its bill will be checked later, on schedule.`;
    this.log.write('callback-refused', `${kind} ${shop}`, line, { shop, callback: kind });
  }

  noteAnsweredByApplication(path: string, status: number): void {
    this.add('unseenCallbacks', NO_SHOP);
    this.remember(NO_SHOP);
    const line = (): string =>
      `The application itself answered a callback to /${path} with ${status} before it reached the module: a ` +
      'guard, middleware, filter or other route did so, such as a login, CSRF protection or a rate limit. Exempt ' +
      'callbacks from it. Their bills will be checked later, on schedule.';
    this.log.write('callback-refused', `${status} ${path}`, line, { dropped: 'unseenCallbacks' });
  }

  private remember(key: string): void {
    const count = (this.recentRefusals(key)?.count ?? 0) + 1;
    this.refusedInARow.set(key, { count, at: this.clock.elapsed() });
  }

  private add(what: DropKind, key: string): DroppedCounts {
    const before = this.counts(key);
    const after = { ...before, [what]: before[what] + 1 };
    this.byShop.set(key, after);
    return after;
  }

  /** Called for a callback that was understood, whatever the answer to it. */
  noteUnderstood(shop: string): void {
    this.refusedInARow.delete(shop);
    this.refusedInARow.delete(NO_SHOP);
  }

  /** Whether this instance has refused the last callbacks of a shop, several in a row and recently. */
  get refusesAll(): boolean {
    return [...this.refusedInARow.keys()].some((shop) => (this.recentRefusals(shop)?.count ?? 0) >= REFUSALS_IN_A_ROW);
  }

  private recentRefusals(shop: string) {
    const refused = this.refusedInARow.get(shop);
    return refused && this.clock.elapsed() - refused.at <= REFUSAL_MEMORY_MS ? refused : undefined;
  }

  /** @param shop `null` for all shops */
  counts(shop: string | null): DroppedCounts {
    if (shop !== null) return this.byShop.get(shop) ?? NO_DROPS;
    const sum = { ...NO_DROPS } as Record<DropKind, number>;
    for (const counts of this.byShop.values()) for (const what of KINDS) sum[what] += counts[what];
    return sum;
  }
}

function shapeOf(body: unknown): string {
  if (body instanceof UnreadableBody) return 'a body that could not be read';
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return Array.isArray(body) ? 'a list' : `a body of type ${body === null ? 'null' : typeof body}`;
  }
  const names = Object.keys(body);
  const shown = names.slice(0, MAX_NAMES).map((name) => {
    const value: unknown = Object.getOwnPropertyDescriptor(body, name)?.value;
    const size =
      typeof value === 'string' ? `${value.length} characters` : Array.isArray(value) ? 'a list' : typeof value;
    return `${PLAIN_NAME_PATTERN.test(name) ? name : `a name of ${name.length} characters`} (${size})`;
  });
  const omittedCount = names.length - shown.length;
  const counted = names.length === 1 ? '1 field' : `${names.length} fields`;
  return `${counted}${names.length > 0 ? `: ${shown.join(', ')}` : ''}${omittedCount > 0 ? ` and ${omittedCount} more` : ''}`;
}

const KINDS = Object.keys(NO_DROPS) as DropKind[];
