import type { ConsoleFigures } from '../storage/console/console-figures.store.js';
import type { PaymentWorkload } from '../operations/workload.js';
import type { PaymentStats, ShopState } from '../storage/operator.store.js';
import { instantOfWall } from '../config/time-zone.js';
import type { ShopRegistry } from '../config/shop-registry.js';

/** What the first page shows. */
export interface Overview {
  readonly stats: PaymentStats;
  readonly refused: readonly ShopState[];
  readonly workload: PaymentWorkload;
  readonly figures: ConsoleFigures;
  /** How many payments of the last day took how long to be settled: one number for each of {@link DELAYS}, and one more. */
  readonly delays: readonly number[];
}

/** Ages at which the backlog is counted apart, in milliseconds. */
export const AGES = [0, 10_000, 60_000, 300_000, 3_600_000, 86_400_000] as const;

/** Times from payment to settlement that are counted apart, in milliseconds. */
export const DELAYS = [5_000, 15_000, 60_000, 300_000, 3_600_000] as const;

/**
 * Times from the service's `created_at`, which is whole seconds on its own clock, to our settlement. A shop whose clock
 * is not known here yet is left out.
 */
export function delaysOf(figures: ConsoleFigures, shops: ShopRegistry): number[] {
  const counts = [...DELAYS.map(() => 0), 0];
  for (const { shop, createdAtText, settledAt } of figures.settled) {
    const timeZone = shops.peek(shop)?.timeZone;
    const wall = Date.parse(`${createdAtText.replace(' ', 'T')}Z`);
    if (timeZone === undefined || Number.isNaN(wall)) continue;
    const delay = settledAt.getTime() - instantOfWall(timeZone, wall).getTime();
    const found = DELAYS.findIndex((limit) => delay < limit);
    const index = found < 0 ? DELAYS.length : found;
    counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts;
}
