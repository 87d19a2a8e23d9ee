import type { ShopInput } from 'nestjs-payment-sandbox';

/** The two shops that the sample shop bills for, set to call it. */
export function demoShops(shopPort: number): Record<string, ShopInput> {
  return {
    'demo-main': demoShop('Coffee shop', 'sandbox-main-token-0123456789abcdef', shopPort, ''),
    'demo-eu': demoShop('Coffee shop Europe', 'sandbox-eu-token-0123456789abcdef', shopPort, '/eu'),
  };
}

function demoShop(name: string, apiToken: string, shopPort: number, suffix: string): ShopInput {
  const address = `http://127.0.0.1:${shopPort}`;
  return {
    name,
    apiToken,
    successUrl: `${address}/redirect/payment/success${suffix}`,
    failUrl: `${address}/redirect/payment/fail${suffix}`,
    resultUrl: `${address}/postback/payment${suffix}`,
    ledgerUrl: `${address}/api/ledger`,
  };
}
