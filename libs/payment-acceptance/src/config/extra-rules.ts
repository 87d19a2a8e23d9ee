import type {
  PaymentAcceptanceExtras,
  PaymentRoutesOptions,
  PostbackRoutesOptions,
  RedirectRoutesOptions,
} from './extras.js';
import { group, listOf, oneOf, text, type OptionRules } from './option-rule.js';

const decorators = {
  decorators: listOf<MethodDecorator>('decorators'),
  classDecorators: listOf<ClassDecorator>('decorators'),
};
const booleanAllowed = { mayBe: [true, false] };

export const ROUTE_RULES: OptionRules<PaymentRoutesOptions> = {
  ...decorators,
  path: text(''),
  redirect: group<RedirectRoutesOptions>(
    {
      ...decorators,
      successPath: text('redirect/payment/success'),
      failPath: text('redirect/payment/fail'),
      resultPath: text('redirect/payment/result'),
    },
    booleanAllowed,
  ),
  postback: group<PostbackRoutesOptions>({ ...decorators, path: text('postback/payment') }, booleanAllowed),
};

/** Like `OPTION_RULES`, for the options passed next to the factory. */
export const EXTRA_RULES: OptionRules<PaymentAcceptanceExtras> = {
  routes: group(ROUTE_RULES),
  role: oneOf(['all', 'callbacks', 'workers'], 'all'),
  dataSource: text('default'),
  routeImports: listOf('modules'),
};
