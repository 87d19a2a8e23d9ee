import { randomId } from '../common/ids.js';
import type { ShopSettings } from '../model/entities.js';
import type { ShopInput } from '../model/options.js';
import { checkShop, mergeShopSettings } from '../model/shop-settings.js';
import type { SandboxStore } from '../storage/store.js';

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

/** In a shop that exists, settings follow the options unless the control interface has changed them since. */
export function seedShops(store: SandboxStore, shops: Record<string, ShopInput>): void {
  const seeded = Object.entries(shops).map(([id, input]) => {
    const settings = mergeShopSettings(id, input, undefined);
    const present = store.shops.get(id);
    const changes = present ? changedSince(store.seeded.get(id) ?? {}, present) : {};
    return { shop: { id, ...settings, ...changes }, settings };
  });
  // A shop that the options no longer name leaves its token to one that they name: it was renamed.
  const claimed = new Set(seeded.map(({ shop }) => shop.apiToken));
  const released = [...store.shops.values()].flatMap((shop) => {
    const settings = shop.id in shops || !claimed.has(shop.apiToken) ? undefined : store.seeded.get(shop.id);
    const apiToken = randomId();
    return settings ? { shop: { ...shop, apiToken }, settings: { ...settings, apiToken } } : [];
  });
  const changed = [...released, ...seeded];
  // Checks all shops as they will be: two may have swapped their tokens.
  const all = new Map([...store.shops, ...changed.map(({ shop }) => [shop.id, shop] as const)]);
  for (const { shop } of seeded) checkShop(shop, all.values());
  if (seeded.length === 0) return;
  store.commit(...changed.flatMap(({ shop, settings }) => [{ shop }, { seeded: { shopId: shop.id, settings } }]));
}

function changedSince(
  seed: Partial<ShopSettings>,
  { id: _id, ...present }: ShopSettings & { id: string },
): Partial<ShopSettings> {
  const changed = Object.entries(present).filter(([name, value]) => value !== seed[name as keyof ShopSettings]);
  return Object.fromEntries(changed);
}
