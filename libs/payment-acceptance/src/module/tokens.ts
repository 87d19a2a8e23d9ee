import { Inject } from '@nestjs/common';

/** Token of a service that is also found by those who have loaded another copy of the package, with other classes. */
export function sharedToken(service: string): symbol {
  return Symbol.for(`nestjs-payment-acceptance/${service}`);
}

/** Token of a shop's `PaymentShop`, provided by `PaymentAcceptanceModule.forFeature(name)`. */
export function getPaymentShopToken(shop: string): symbol {
  return Symbol.for(`nestjs-payment-acceptance/shop/${shop}`);
}

/** Injects the `PaymentShop` with that name. */
export function InjectPaymentShop(shop: string): PropertyDecorator & ParameterDecorator {
  return Inject(getPaymentShopToken(shop));
}
