import type { PaymentClock } from '../common/clock.js';

/** How long a shop counts as slow after an attempt that took long: longer than the pauses of its first retries. */
const MEMORY_MS = 600_000;

/**
 * Shops whose handlers lately took long, as when a system of one tenant does not answer. Together they get half of a
 * consumer's places, so that events of the other shops find one.
 */
export class SlowShops {
  /** When an attempt for each slow shop last ended late. */
  private readonly slowAt = new Map<string, number>();
  private readonly running = new Map<string, number>();

  constructor(
    private readonly clock: PaymentClock,
    /** An attempt that takes longer is slow. */
    private readonly slowMs: number,
  ) {}

  names(): string[] {
    const now = this.clock.elapsed();
    for (const [shop, slowAt] of this.slowAt) if (now - slowAt >= MEMORY_MS) this.slowAt.delete(shop);
    return [...this.slowAt.keys()];
  }

  /** How many deliveries of slow shops are in flight. */
  get inFlight(): number {
    return this.names().reduce((sum, shop) => sum + (this.running.get(shop) ?? 0), 0);
  }

  async watch<T>(shop: string, attempt: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    this.running.set(shop, (this.running.get(shop) ?? 0) + 1);
    try {
      return await attempt();
    } finally {
      const left = (this.running.get(shop) ?? 0) - 1;
      if (left > 0) this.running.set(shop, left);
      else this.running.delete(shop);
      if (performance.now() - startedAt >= this.slowMs) this.slowAt.set(shop, this.clock.elapsed());
    }
  }
}
