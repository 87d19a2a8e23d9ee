/** One shop (merchant) of the payment acceptance service. */
export interface PaymentShopOptions {
  /** `shop_id` of bill creation (section 2.1, documented). */
  shopId: string;
  /** The shop's API token: the API's bearer token, and the key of the redirect's digest (section 5, documented). */
  apiToken: string;
  /**
   * Further tokens of the shop, for a rotation. Redirects signed with one of them are accepted, and when the service refuses
   * `apiToken` (401), the request is repeated with each of them. Default: none.
   */
  previousApiTokens?: string[];
  /** `{base_url}` of the service, for example `https://api.example`; a path is kept. https in production. */
  apiBaseUrl: string;
  /**
   * Whether `apiToken` and `apiBaseUrl` may be those of a sandbox when `NODE_ENV` is `production`, as on a staging system
   * (assumed: a value that contains "sandbox" is one). Addresses with http, or of this machine, are still refused.
   * Default `false`.
   */
  allowSandbox?: boolean;
  /** The shop's currency, used for bills that name none. Default `RUB` (assumed; section 2.1 documents only that it occurs). */
  currency?: string;
  /** Whether the payer pays the commission of a bill that does not say (section 2.1). Default `false`. */
  payerPaysCommission?: boolean;
  /**
   * Time zone of the service's `created_at`, which states none: an IANA name, or an offset such as `+03:00`.
   * Default `UTC` (assumed).
   */
  timeZone?: string;
  /**
   * Maximum bill checks a second, over all instances together; while idle, up to one second's worth can be saved up. The
   * actual rate adapts to how the service answers: after a 429 each instance asks less often, and after a while a little
   * more often again. Default 1000 (assumed: the specification shows no rate limits).
   */
  requestsPerSecond?: number;
}

/**
 * Finds shops that are not in the options, for example in your own database. Results are cached for 30 seconds. A changed
 * token or a removed shop is noticed when that time is up, or earlier, when the service refuses a token or a digest does not
 * match (at most once every five seconds). Callbacks are taken only for the default shop and for shops whose exact name is
 * in the list or has been used by your own calls. If the list lacks a name, the list is requested again, after five seconds
 * at the earliest. Both methods may be called at any time, also concurrently. An error, or no result within five seconds,
 * never counts as "no such shop": callbacks get 503, so that they are sent again, and checks are postponed. Checks of other
 * shops do not wait for a slow result.
 */
export interface PaymentShopResolver {
  /** The shop's settings, validated like those in the option `shops`; `undefined` or `null` if there is no such shop. */
  find(name: string): Promise<PaymentShopOptions | null | undefined>;
  /**
   * The names of all shops whose callbacks are taken and whose bills are checked. Called once a minute by each instance with
   * workers, and for callbacks with a name that the last list lacks.
   */
  list(): Promise<string[]>;
}

/** Limits of one HTTP request to the service (assumed; the specification is silent). */
export interface ServiceHttpOptions {
  /** Time limit of the whole request, slow bodies included, in milliseconds. Default 15000. */
  totalTimeoutMs?: number;
  /**
   * Maximum size of an answer after decompression, in bytes. A bill whose list of payments is larger, or has more
   * than 5,000 payments, gets a review (`too-many-payments`). Reading a list holds up everything else in the process: one of
   * 512 KiB for some 35 milliseconds, one of 1 MiB for twice as long. Default 524288, which holds the lists of 2,500 payments.
   */
  maxAnswerBytes?: number;
  /** Attempts of a read, and of a creation that provably never left. Default 3. */
  attempts?: number;
}
