// The module as it is installed, with nothing to do; `shops` of them come from a shop resolver, or one from the options. With
// none it is the host without the module.
import { PaymentAcceptanceModule } from 'nestjs-payment-acceptance';
import { options } from '../lib/contestant.mjs';
import { serve } from '../lib/nest.mjs';
import { databaseOf } from '../lib/orders.mjs';
import { SHOP, shopName } from '../lib/postback-bodies.mjs';

const settings = { shopId: SHOP.shopId, apiToken: SHOP.token, apiBaseUrl: 'https://service.example' };
const names = Array.from({ length: options.shops }, (_, number) => shopName(number));
const known = new Set(names);
/** @type {import('nestjs-payment-acceptance').PaymentShopResolver} */
const resolver = {
  list: async () => names,
  find: async (name) => (known.has(name) ? { ...settings, shopId: `bench-${name}` } : undefined),
};

await serve('fastify', '/postback/payment', {
  imports: [databaseOf(options), ...(options.shops === 0 ? [] : [module()])],
});

function module() {
  return PaymentAcceptanceModule.forRoot({
    ...(options.shops === 1
      ? { shops: { [shopName(0)]: settings } }
      : { shopResolver: resolver, defaultShop: shopName(0) }),
    migrations: 'run',
  });
}
