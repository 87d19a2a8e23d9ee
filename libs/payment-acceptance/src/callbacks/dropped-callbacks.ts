import { Injectable } from '@nestjs/common';
import { PaymentClock } from '../common/clock.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { RateLimitedLog } from '../common/rate-limited-log.js';

/** What this instance has dropped since it started, so that floods stay bounded. All of it comes again, or is not missed. */
export interface DroppedCounts {
  /** Callbacks answered 503 without being stored, since `callbacks.maxQueued` of them wait for the database. */
  readonly delayedCallbacks: number;
  /** Callbacks answered as stored without a record: one of their bill that waits for its check asks for the same. */
  readonly repeatedCallbacks: number;
  /** Postbacks for unknown bills answered 503, since `callbacks.maxUnmatched` of them wait. */
  readonly unmatchedPostbacks: number;
  /** Postbacks that the older integration accepted and of which no record is kept, since `callbacks.maxUnmatched` are. */
  readonly unrecordedForwards: number;
  /** Postbacks answered 503 without being forwarded, since `callbacks.maxForwards` are under way. */
  readonly delayedForwards: number;
  /** Postbacks refused for their digest, where `callbacks.requirePostbackDigest` says so. */
  readonly refusedPostbacks: number;
  /** Callbacks answered 503 since too many name shops that the shop resolver has to be asked about. Of no shop. */
  readonly unaskedShops: number;
  /** Result pages shown at once, since `callbacks.maxWaitingResults` of them wait. */
  readonly unawaitedResults: number;
}

export type Dropped = keyof DroppedCounts;

const SENTENCES: Readonly<Record<Dropped, string>> = {
  delayedCallbacks:
    'Callbacks come faster than the database stores them; further ones are answered 503 and come again.',
  repeatedCallbacks:
    'A bill has got callbacks.maxPerBill callbacks; those that repeat one which waits are not recorded.',
  unmatchedPostbacks: 'Too many postbacks name no bill of ours; further ones are turned away with 503.',
  unrecordedForwards: 'Many postbacks were accepted by callbacks.forwardUnknown; of further ones no record is kept.',
  delayedForwards: 'Too many postbacks are being forwarded; further ones are answered 503, so that they come again.',
  refusedPostbacks: 'Postbacks are refused: their digest is absent or does not match.',
  unaskedShops:
    'Callbacks name too many shops that the shop resolver does not have; it is asked about some of them only.',
  unawaitedResults: 'Too many result pages wait for their check; further ones are shown at once.',
};

const NOTHING: DroppedCounts = {
  delayedCallbacks: 0,
  repeatedCallbacks: 0,
  unmatchedPostbacks: 0,
  unrecordedForwards: 0,
  delayedForwards: 0,
  refusedPostbacks: 0,
  unaskedShops: 0,
  unawaitedResults: 0,
};

/** No shop has this name. */
const NO_SHOP = '';

/** At most one line of a kind and shop in this time: what strangers cause at will must not fill the log. */
const PAUSE_MS = 60_000;

/** Counts what is dropped, and says so now and then. */
@Injectable()
export class DroppedCallbacks {
  private readonly byShop = new Map<string, DroppedCounts>();
  private readonly log: RateLimitedLog;

  constructor(clock: PaymentClock) {
    this.log = new RateLimitedLog(new PaymentLogger('PaymentCallbacks'), clock, PAUSE_MS);
  }

  /** @param shop its name; `null` where there is none, never a name that a stranger has made up */
  count(what: Dropped, shop: string | null): void {
    const key = shop ?? NO_SHOP;
    const before = this.counts(key);
    const after = { ...before, [what]: before[what] + 1 };
    this.byShop.set(key, after);
    const whose = shop === null ? '' : `Shop "${shop}", `;
    const line = (): string => `${SENTENCES[what]} ${whose}${after[what]} since the start.`;
    this.log.warn(`${what} ${key}`, line, shop === null ? {} : { shop });
  }

  /** Of one shop; with `null` of all. */
  counts(shop: string | null): DroppedCounts {
    if (shop !== null) return this.byShop.get(shop) ?? NOTHING;
    const sum = { ...NOTHING } as Record<Dropped, number>;
    for (const counts of this.byShop.values()) for (const what of KINDS) sum[what] += counts[what];
    return sum;
  }
}

const KINDS = Object.keys(NOTHING) as Dropped[];
