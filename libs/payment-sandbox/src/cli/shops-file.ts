import { readFileSync } from 'node:fs';
import { isFields } from '../common/input.js';
import type { Shop } from '../model/entities.js';
import type { ShopInput } from '../model/options.js';
import { checkShop, mergeShopSettings } from '../model/shop-settings.js';
import { UsageError } from './usage-error.js';

/** @throws UsageError that names file, shop and field */
export function readShopsFile(file: string): Record<string, ShopInput> {
  const refuse = (reason: string) => new UsageError(`The shops file (--shops, SANDBOX_SHOPS) ${file}: ${reason}`);
  let shops: unknown;
  try {
    shops = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw refuse((error as Error).message);
  }
  if (!isFields(shops)) throw refuse('it must contain a JSON object of shops by id');
  const read: Shop[] = [];
  for (const [id, settings] of Object.entries(shops)) {
    try {
      const shop = { id, ...mergeShopSettings(settings, undefined) };
      checkShop(shop, read);
      read.push(shop);
    } catch (error) {
      throw refuse(`the shop "${id}": ${(error as Error).message}`);
    }
  }
  if (read.length === 0) throw refuse('it defines no shop');
  return shops as Record<string, ShopInput>;
}
