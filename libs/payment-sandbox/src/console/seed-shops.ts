import { checkShop, mergeShopSettings } from '../model/shop-settings.js';
import type { ShopInput } from '../model/options.js';
import type { ShopSettings } from '../model/entities.js';
import type { SandboxStore } from '../storage/store.js';

/**
 * In a shop that exists, settings follow the options unless they were changed through the control interface since the
 * last seed.
 */
export function seedShops(store: SandboxStore, shops: Record<string, ShopInput>): void {
  const seeded = Object.entries(shops).map(([id, input]) => {
    const settings = mergeShopSettings(input, undefined);
    const present = store.shops.get(id);
    const changes = present ? changedSince(store.seeded.get(id) ?? {}, present) : {};
    return { shop: { id, ...settings, ...changes }, settings };
  });
  // Checks all shops as they will be: two may have swapped their tokens.
  const all = new Map([...store.shops, ...seeded.map(({ shop }) => [shop.id, shop] as const)]);
  for (const { shop } of seeded) checkShop(shop, all.values());
  if (seeded.length === 0) return;
  store.commit(...seeded.flatMap(({ shop, settings }) => [{ shop }, { seeded: { shopId: shop.id, settings } }]));
}

function changedSince(
  seed: Partial<ShopSettings>,
  { id: _id, ...present }: ShopSettings & { id: string },
): Partial<ShopSettings> {
  const changed = Object.entries(present).filter(([name, value]) => value !== seed[name as keyof ShopSettings]);
  return Object.fromEntries(changed);
}
