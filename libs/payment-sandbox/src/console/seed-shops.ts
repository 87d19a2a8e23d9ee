import { checkShop, mergeShopSettings } from '../model/shop-settings.js';
import type { ShopInput } from '../model/options.js';
import type { ShopSettings } from '../model/entities.js';
import type { SandboxStore } from '../storage/store.js';

/**
 * Creates the shops that the options name. In a shop that exists, settings follow the options unless they were changed
 * through the control interface since the last seed.
 */
export function seedShops(store: SandboxStore, shops: Record<string, ShopInput>): void {
  for (const [id, input] of Object.entries(shops)) {
    const seed = mergeShopSettings(input, undefined);
    const present = store.shops.get(id);
    const before = store.seeded.get(id) ?? {};
    const kept = present ? changedSince(before, present) : {};
    const shop = { id, ...seed, ...kept };
    checkShop(shop, store.shops.values());
    store.commit({ shop }, { seeded: { shopId: id, settings: seed } });
  }
}

function changedSince(
  seed: Partial<ShopSettings>,
  { id: _id, ...present }: ShopSettings & { id: string },
): Partial<ShopSettings> {
  const changed = Object.entries(present).filter(([name, value]) => value !== seed[name as keyof ShopSettings]);
  return Object.fromEntries(changed);
}
