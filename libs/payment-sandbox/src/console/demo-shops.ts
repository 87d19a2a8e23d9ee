import type { ShopInput } from '../model/options.js';

/**
 * Two shops to begin with: `demo-main` for the default shop, and `demo-eu` for the shop `eu`, of an application at
 * `address` that uses nestjs-payment-acceptance on its default routes.
 */
export function demoShops(address: string): Record<string, ShopInput> {
  const base = address.replace(/\/+$/, '');
  return {
    'demo-main': demoShop('Coffee shop', 'sandbox-main-token-0123456789abcdef', base, ''),
    'demo-eu': demoShop('Coffee shop Europe', 'sandbox-eu-token-0123456789abcdef', base, '/eu'),
  };
}

function demoShop(name: string, apiToken: string, base: string, suffix: string): ShopInput {
  return {
    name,
    apiToken,
    successUrl: `${base}/redirect/payment/success${suffix}`,
    failUrl: `${base}/redirect/payment/fail${suffix}`,
    resultUrl: `${base}/postback/payment${suffix}`,
  };
}
