import type { ServiceHttpHooks } from './hooks.js';

/** One shop (merchant) of the payment acceptance service. */
export interface PaymentShopOptions {
  /** `shop_id` of bill creation (section 2.1, documented). */
  shopId: string;
  /** The shop's API token: bearer of the API and key of the redirect's digest (section 5, documented). */
  apiToken: string;
  /**
   * Further tokens of the shop, for a rotation: redirects signed with one of them are accepted, and a request whose token
   * is refused (401) is made with each of them in turn. Default: none.
   */
  previousApiTokens?: string[];
  /** `{base_url}` of the service, for example `https://api.example`; a path is kept. https in production. */
  apiBaseUrl: string;
  /**
   * Whether `apiToken` and `apiBaseUrl` may name a sandbox where `NODE_ENV` is `production`, as on a staging system (assumed:
   * what has "sandbox" in it is one). An http address and one of this machine are refused there all the same. Default `false`.
   */
  allowSandbox?: boolean;
  /** Currency of bills that name none, and of the shop. Default `RUB` (section 2.1, documented as occurring). */
  currency?: string;
  /** Whether the payer pays the commission of bills that do not say (section 2.1). Default `false`. */
  payerPaysCommission?: boolean;
  /**
   * Time zone of the service's `created_at`, which carries none: an IANA name or an offset such as `+03:00`.
   * Default `UTC` (assumed).
   */
  timeZone?: string;
  /**
   * Most checks of bills a second, over all instances together; up to one second's worth is saved while idle. How
   * many there are follows from how the service answers: where it says 429, each instance soon asks for less, and after a
   * while for a little more. Default 1000 (assumed: the specification shows no rate limits).
   */
  requestsPerSecond?: number;
}

/**
 * Finds shops that are not in the options: those of the host's own database, say. Both methods may be called at any time
 * and at once. What they throw, and no answer within `shopLookup.timeoutMs`, never counts as "no such shop": callbacks
 * are answered with 503, so that they come again, and checks are put off.
 */
export interface PaymentShopResolver {
  /** The settings of that shop, checked as those of the option `shops`; `undefined` or `null` where there is none. */
  find(name: string): Promise<PaymentShopOptions | null | undefined>;
  /** The names of all shops whose bills are to be followed. Asked once a minute by each instance with workers. */
  list(): Promise<string[]>;
}

/** How the answers of the `shopResolver` are used. */
export interface ShopLookupOptions {
  /**
   * How long a shop's settings are kept, in milliseconds: after that a changed token, or a shop that was removed, is
   * seen. A refused token and a digest that does not match make the module look earlier. Default 30000.
   */
  cacheMs?: number;
  /** Least pause between two such early looks at one shop, in milliseconds. Default 5000. */
  refreshGapMs?: number;
  /**
   * How long a name that stands in the address of a callback, and is no shop's, is not asked about again, in milliseconds:
   * only after that does a new shop of this name get its callbacks. Of such names each instance asks about 20 a second;
   * others are answered 503. Default 5000.
   */
  absentMs?: number;
  /** How long one call of the resolver may take, in milliseconds. Default 5000. */
  timeoutMs?: number;
}

/** Limits of one HTTP request to the service (assumed; the specification is silent). */
export interface ServiceHttpOptions {
  /** Until a secure connection is up, in milliseconds. Default 5000. */
  connectTimeoutMs?: number;
  /** The whole request, slow bodies included, in milliseconds. Default 15000. */
  totalTimeoutMs?: number;
  /** The largest answer accepted, inflated, in bytes. Default 2 MiB. */
  maxAnswerBytes?: number;
  /**
   * How old a connection may be that was opened before its creation came, in milliseconds; 0: each creation opens
   * its own, which it waits for. It must be well below the time after which the service, or whatever stands before it, closes
   * a connection that has been silent: one that closes while the request is on its way makes the outcome unknown. Default 2000
   * (assumed: such limits are 5 seconds or more).
   */
  openAheadMs?: number;
  /** Tries of one read, and of a creation that provably never left. Default 3. */
  attempts?: number;
  /** First pause between tries, in milliseconds; doubles each time, with full jitter. Default 200. */
  retryBaseMs?: number;
  /** Longest pause between tries, in milliseconds; a longer `Retry-After` ends the tries. Default 3000. */
  retryCapMs?: number;
  /** Told of each request and of its end, for audit and metrics. Default: none. */
  hooks?: ServiceHttpHooks;
}
