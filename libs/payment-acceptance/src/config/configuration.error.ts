import { PaymentAcceptanceError } from '../common/errors.js';

/** The options of the module are invalid. Lists every problem with the name of its option and shop. */
export class PaymentConfigurationError extends PaymentAcceptanceError {
  readonly code = 'invalid-configuration';

  constructor(
    readonly problems: readonly string[],
    module = 'PaymentAcceptanceModule',
  ) {
    super(`${module} cannot start:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  }
}

/** Neither the options nor the shop resolver has a shop of this name. */
export class PaymentUnknownShopError extends PaymentAcceptanceError {
  readonly code = 'unknown-shop';

  constructor(
    readonly shop: string,
    configured: readonly string[],
    resolver: boolean,
  ) {
    const shopList = configured.length > 0 ? ` The configured shops are: ${configured.join(', ')}.` : '';
    const advice = resolver ? 'The shop resolver cannot find it either.' : 'Add it to the option "shops".';
    super(`There is no shop "${shop}".${shopList} ${advice}`);
  }
}
