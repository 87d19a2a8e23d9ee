import { PaymentAcceptanceError } from '../common/errors.js';

/** The options given to the module cannot be used. Lists every problem with the option's and the shop's name. */
export class PaymentConfigurationError extends PaymentAcceptanceError {
  readonly code = 'invalid-configuration';

  constructor(readonly problems: readonly string[]) {
    super(`PaymentAcceptanceModule cannot start:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  }
}

/** A shop was asked for by a name that the options do not have. */
export class UnknownShopError extends PaymentAcceptanceError {
  readonly code = 'unknown-shop';

  constructor(
    readonly shop: string,
    known: readonly string[],
  ) {
    super(`There is no shop "${shop}". The configured shops are: ${known.join(', ')}. Add it to the option "shops".`);
  }
}
