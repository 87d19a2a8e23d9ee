import { PaymentAcceptanceError } from '../common/errors.js';

/** The options given to the module cannot be used. Lists every problem with the option's and the shop's name. */
export class PaymentConfigurationError extends PaymentAcceptanceError {
  readonly code = 'invalid-configuration';

  constructor(
    readonly problems: readonly string[],
    module = 'PaymentAcceptanceModule',
  ) {
    super(`${module} cannot start:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  }
}

/** A shop was asked for by a name that neither the options nor the shop resolver has. */
export class PaymentUnknownShopError extends PaymentAcceptanceError {
  readonly code = 'unknown-shop';

  constructor(
    readonly shop: string,
    configured: readonly string[],
    resolver: boolean,
  ) {
    const known = configured.length > 0 ? ` The configured shops are: ${configured.join(', ')}.` : '';
    const advice = resolver ? 'The shop resolver does not find it either.' : 'Add it to the option "shops".';
    super(`There is no shop "${shop}".${known} ${advice}`);
  }
}
