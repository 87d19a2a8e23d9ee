/** One shop (merchant) of the service. */
export interface PaymentShopOptions {
  /** `shop_id` of bill creation (section 2.1, documented). */
  shopId: string;
  /** The API's bearer token, and the key of the redirect's digest (section 5, documented). */
  apiToken: string;
  /**
   * Further tokens, for a rotation. Redirects signed with one are accepted; after a 401 for `apiToken`, a request is
   * repeated with each. Default: none.
   */
  previousApiTokens?: string[];
  /** `{base_url}` of the service, such as `https://api.example`; a path is kept. https in production. */
  apiBaseUrl: string;
  /**
   * Whether `apiToken` and `apiBaseUrl` may be those of a sandbox (assumed: they contain "sandbox") when `NODE_ENV` is
   * `production`, as for staging. Addresses with http, or of this machine, are still refused. Default `false`.
   */
  allowSandbox?: boolean;
  /** Currency of bills that name none. Default `RUB` (assumed; section 2.1 documents only that it occurs). */
  currency?: string;
  /** Whether the payer pays the commission of a bill that does not say (section 2.1). Default `false`. */
  payerPaysCommission?: boolean;
  /**
   * Time zone of the service's `created_at`, which states none: an IANA name, or an offset such as `+03:00`. Default
   * `UTC` (assumed).
   */
  timeZone?: string;
  /**
   * Maximum bill checks a second, over all instances; idle time saves up one second's worth at most. After a 429 each
   * instance asks less often, and after a while a little more often again. Default 1000 (assumed).
   */
  requestsPerSecond?: number;
}

/**
 * Finds shops that are not in the options. Results are cached for 30 seconds. A changed token or a removed shop is
 * noticed then, or when the service refuses a token or a digest does not match (at most once every five seconds). Only
 * for names that `list()` returns, letter by letter, are callbacks taken and bills created and checked. A name stands
 * for one shop of the service for ever. Both methods may be called at any time, also concurrently. An error, or no result within five seconds, never counts as "no such shop": callbacks get 503, so that
 * they are sent again, and checks are postponed. Checks of other shops do not wait for a slow result.
 */
export interface PaymentShopResolver {
  /**
   * The shop's settings, validated like those in the option `shops`; `undefined` or `null` if there is no such shop.
   */
  find(name: string): Promise<PaymentShopOptions | null | undefined>;
  /**
   * The names of all shops. Called once a minute by each instance with workers, and for a name that the last list
   * lacks: one of a callback after five seconds at the earliest.
   */
  list(): Promise<string[]>;
}

/** Limits of one HTTP request to the service (assumed). */
export interface ServiceHttpOptions {
  /** Time limit of the whole request, slow bodies included. Default 15000. */
  totalTimeoutMs?: number;
  /**
   * Maximum size of an answer after decompression. A bill with a larger list of payments, or more than 5,000, gets a
   * review (`too-many-payments`). Reading a list holds up everything else in the process: 512 KiB for some 35
   * milliseconds, 1 MiB for twice as long. Default 524288, enough for 2,500 payments.
   */
  maxAnswerBytes?: number;
  /** Attempts of a read, and of a creation that provably never left. Default 3. */
  attempts?: number;
}
