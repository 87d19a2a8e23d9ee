import { PaymentAcceptanceError, describeError } from '../common/errors.js';
import { cleanLine } from '../common/text.js';

/** Base of the errors about shops that come from the option `shopResolver`. None of them says that there is no such shop. */
export abstract class PaymentShopError extends PaymentAcceptanceError {}

/** The shop resolver threw, did not answer in time, or answered something that is no shop. */
export class PaymentShopResolverError extends PaymentShopError {
  readonly code = 'shop-resolver';

  constructor(
    /** The shop that was looked for; `undefined` where all were to be listed. */
    readonly shop: string | undefined,
    reason: unknown,
  ) {
    const looked = shop === undefined ? 'The shops could not be listed' : `Shop "${shop}" could not be looked up`;
    super(`${looked}: the shop resolver failed. Try again when its database answers. ${describeError(reason)}`);
  }
}

/** The shop resolver gave settings that cannot be used: the checks are those of the option `shops`. */
export class PaymentInvalidShopError extends PaymentShopError {
  readonly code = 'invalid-shop';

  constructor(
    readonly shop: string,
    /** A sentence for each unusable setting; none repeats a token. */
    readonly problems: readonly string[],
  ) {
    super(`The shop resolver's settings of shop "${shop}" cannot be used: ${problems.map(cleanLine).join(' ')}`);
  }
}

/** A setting of a shop was read before the shop resolver was asked for it. */
export class PaymentShopNotReadError extends PaymentShopError {
  readonly code = 'shop-not-read';

  constructor(readonly shop: string) {
    super(`The settings of shop "${shop}" have not been read yet. Use "await shop.settings()" instead.`);
  }
}
