import { PaymentAcceptanceError, describeError } from '../common/errors.js';
import { cleanLine } from '../common/text.js';

/** Base of the errors about shops of the `shopResolver`. None of them means that there is no such shop. */
export abstract class PaymentShopError extends PaymentAcceptanceError {}

/** The shop resolver threw, timed out, or returned something unusable. */
export class PaymentShopResolverError extends PaymentShopError {
  readonly code = 'shop-resolver';

  constructor(
    /** The shop that was looked up; `undefined` if the shops were to be listed. */
    readonly shop: string | undefined,
    reason: unknown,
  ) {
    const failure = shop === undefined ? 'The shops could not be listed' : `Shop "${shop}" could not be looked up`;
    super(`${failure}: the shop resolver failed. Retry when its database responds. ${describeError(reason)}`);
  }
}

/** The shop resolver returned invalid settings; they are checked like those in the option `shops`. */
export class PaymentInvalidShopError extends PaymentShopError {
  readonly code = 'invalid-shop';

  constructor(
    readonly shop: string,
    /** One sentence for each invalid setting; none repeats a token. */
    readonly problems: readonly string[],
  ) {
    super(`The shop resolver's settings for shop "${shop}" are invalid: ${problems.map(cleanLine).join(' ')}`);
  }
}

/** A shop's setting was read before the shop had been loaded from the shop resolver. */
export class PaymentShopNotReadError extends PaymentShopError {
  readonly code = 'shop-not-read';

  constructor(readonly shop: string) {
    super(`The settings of shop "${shop}" have not been loaded yet. Use "await shop.settings()" instead.`);
  }
}
