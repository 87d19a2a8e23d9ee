import type {
  DroppedCounts,
  PaymentFigures,
  PaymentStats,
  PaymentWorkload,
  ShopState,
} from 'nestjs-payment-acceptance/operations';

export interface Overview {
  readonly stats: PaymentStats & { readonly dropped: DroppedCounts };
  readonly refused: readonly ShopState[];
  readonly workload: PaymentWorkload;
  readonly figures: PaymentFigures;
  /** Payments of the last day in each bucket of {@link DELAYS}; the last number counts those that took longer. */
  readonly delays: readonly number[];
}

/** Age buckets of the backlog, in milliseconds. */
export const AGES = [0, 10_000, 60_000, 300_000, 3_600_000, 86_400_000] as const;

/** Upper limits of the buckets for the time from payment to settlement, in milliseconds. */
export const DELAYS = [5_000, 15_000, 60_000, 300_000, 3_600_000] as const;

export function delaysOf({ settlementDelaysMs }: PaymentFigures): number[] {
  const counts = [...DELAYS.map(() => 0), 0];
  for (const delay of settlementDelaysMs) {
    const bucket = DELAYS.findIndex((limit) => delay < limit);
    const index = bucket < 0 ? DELAYS.length : bucket;
    counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts;
}
