import { Injectable } from '@nestjs/common';
import { PaymentClock } from './clock.js';
import { PaymentLogger } from './payment-logger.js';

/** What this instance has dropped since it started, so that floods stay bounded. All of it comes again, or is not missed. */
export interface DroppedCounts {
  /** Callbacks answered as stored without a record: one of their bill that waits for its check asks for the same. */
  readonly repeatedCallbacks: number;
  /** Postbacks for unknown bills answered 503, since `callbacks.maxUnmatched` of them wait. */
  readonly unmatchedPostbacks: number;
  /** Postbacks refused for their digest, where `callbacks.requirePostbackDigest` says so. */
  readonly refusedPostbacks: number;
  /** Result pages shown at once, since `callbacks.maxWaitingResults` of them wait. */
  readonly unawaitedResults: number;
}

export type Dropped = keyof DroppedCounts;

const SENTENCES: Readonly<Record<Dropped, string>> = {
  repeatedCallbacks:
    'A bill has got callbacks.maxPerBill callbacks; those that repeat one which waits are not recorded.',
  unmatchedPostbacks: 'Too many postbacks name no bill of ours; further ones are turned away with 503.',
  refusedPostbacks: 'Postbacks are refused: their digest is absent or does not match.',
  unawaitedResults: 'Too many result pages wait for their check; further ones are shown at once.',
};

const NOTHING: DroppedCounts = {
  repeatedCallbacks: 0,
  unmatchedPostbacks: 0,
  refusedPostbacks: 0,
  unawaitedResults: 0,
};

/** At most one line of a kind and shop in this time: what strangers cause at will must not fill the log. */
const PAUSE_MS = 60_000;

/** Counts what is dropped, and says so now and then. */
@Injectable()
export class Overload {
  private readonly logger = new PaymentLogger('PaymentCallbacks');
  private readonly counts = new Map<string, DroppedCounts>();
  private readonly saidAt = new Map<string, number>();

  constructor(private readonly clock: PaymentClock) {}

  drop(what: Dropped, shop: string): void {
    const before = this.read(shop);
    const after = { ...before, [what]: before[what] + 1 };
    this.counts.set(shop, after);
    const now = this.clock.now().getTime();
    if (now < (this.saidAt.get(`${what} ${shop}`) ?? -Infinity) + PAUSE_MS) return;
    this.saidAt.set(`${what} ${shop}`, now);
    this.logger.warn(`${SENTENCES[what]} Shop "${shop}", ${after[what]} since the start.`, { shop });
  }

  /** Of one shop; with `null` of all. */
  read(shop: string | null): DroppedCounts {
    if (shop !== null) return this.counts.get(shop) ?? NOTHING;
    const sum = { ...NOTHING } as Record<Dropped, number>;
    for (const counts of this.counts.values()) for (const what of KINDS) sum[what] += counts[what];
    return sum;
  }
}

const KINDS = Object.keys(NOTHING) as Dropped[];
