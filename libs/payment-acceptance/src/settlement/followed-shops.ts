import { Injectable } from '@nestjs/common';
import { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { PaymentUnknownShopError } from '../config/configuration.error.js';
import type { Shop } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { PaymentInvalidShopError, PaymentShopError } from '../config/shop.errors.js';
import { ShopIdentities } from './shop-identities.js';
import { DueStore, type DueShops } from './storage/due.store.js';
import { ShopStore } from './storage/shop.store.js';

/** How often the shops are listed and registered again. */
const PREPARE_INTERVAL_MS = 60_000;

/** How long to wait before listing the shops again, or looking one up again, after a failure. */
const RETRY_PAUSE_MS = 5_000;

/**
 * How long checks wait for the host's shop resolver. A result that comes later serves the next poll, so that no shop has
 * to wait for another.
 */
const LOOKUP_TIMEOUT_MS = 100;

/** How many shops are looked up at once. */
const LOOKUP_BATCH_SIZE = 8;

const MAX_LATE_BATCHES = 3;

/**
 * The shops whose bills this instance checks: those of the options, and those that the shop resolver lists. While the
 * resolver fails for a shop, the bills of that shop wait.
 */
@Injectable()
export class FollowedShops {
  private readonly logger = new PaymentLogger('PaymentChecks');
  private names: readonly string[] = [];
  private preparedAt = -Infinity;
  private preparing: Promise<void> | undefined;
  /** Index of the shop that comes first; rotates with each poll, so that none always comes last. */
  private rotation = 0;
  /** Removed shops that have already been reported. */
  private readonly removed = new Set<string>();
  private readonly unusableSince = new Map<string, number>();
  /** Unusable shops that the log has named: of a resolver that fails for all, one in five seconds. */
  private readonly reported = new Set<string>();
  private reportedAt = -Infinity;

  constructor(
    private readonly store: DueStore,
    private readonly rows: ShopStore,
    private readonly shops: ShopRegistry,
    private readonly identities: ShopIdentities,
    private readonly clock: PaymentClock,
  ) {}

  /** Registers the shops for all instances: without its row, no bill of a shop is checked. */
  async prepare(): Promise<void> {
    const listed = await this.list();
    this.names = listed ?? (this.names.length > 0 ? this.names : this.shops.configured);
    await this.rows.register(this.names);
    this.preparedAt = listed ? this.clock.elapsed() : this.clock.elapsed() - PREPARE_INTERVAL_MS + RETRY_PAUSE_MS;
    if (listed) await this.reportRemoved();
  }

  get count(): number {
    return this.names.length;
  }

  follows(shop: string): boolean {
    return this.names.includes(shop);
  }

  async findDue(): Promise<DueShops> {
    const age = this.clock.elapsed() - this.preparedAt;
    // A shop that has just created its first bill must not wait for the next minute.
    if (age >= PREPARE_INTERVAL_MS || this.shops.discovered) {
      this.preparing ??= this.prepareAgain().finally(() => (this.preparing = undefined));
      await withLookupTimeout(this.preparing);
    }
    const usable = this.names.filter((name) => !this.isSuspended(name));
    return this.store.findDue(usable);
  }

  /**
   * Yields settings in rotating order, as far as the host's resolver gives them in time; those of the options first. Ends
   * early if many are late: the next poll begins with the others.
   */
  async *settingsOf(names: readonly string[]): AsyncGenerator<Shop> {
    const start = this.rotation % Math.max(1, names.length);
    this.rotation += 1;
    const rotated = [...names.slice(start), ...names.slice(0, start)];
    const ordered = [true, false].flatMap((own) => rotated.filter((name) => this.shops.isConfigured(name) === own));
    let lateBatches = 0;
    let first = 0;
    for (; first < ordered.length && lateBatches < MAX_LATE_BATCHES; first += LOOKUP_BATCH_SIZE) {
      const batch = ordered.slice(first, first + LOOKUP_BATCH_SIZE);
      const found = await Promise.all(batch.map((name) => withLookupTimeout(this.findUsable(name))));
      if (found.includes('late')) lateBatches += 1;
      for (const shop of found) if (shop && shop !== 'late') yield shop;
    }
    const next = ordered[first];
    if (next !== undefined) this.rotation = names.indexOf(next);
  }

  private async prepareAgain(): Promise<void> {
    try {
      await this.prepare();
    } catch (error) {
      this.preparedAt = this.clock.elapsed() - PREPARE_INTERVAL_MS + RETRY_PAUSE_MS;
      this.logNotListed(error);
    }
  }

  private async list(): Promise<string[] | undefined> {
    try {
      return await this.shops.list();
    } catch (error) {
      if (!(error instanceof PaymentShopError)) throw error;
      this.logNotListed(error);
      return undefined;
    }
  }

  private logNotListed(error: unknown): void {
    const line = `New and removed shops go unnoticed for now. ${describeError(error)}`;
    this.logger.write('shops-not-listed', line, { error: errorType(error) });
  }

  private isSuspended(name: string): boolean {
    if (this.shops.isConfigured(name)) return false;
    return this.clock.elapsed() - (this.unusableSince.get(name) ?? -Infinity) < RETRY_PAUSE_MS;
  }

  private async findUsable(name: string): Promise<Shop | undefined> {
    if (this.isSuspended(name)) return undefined;
    try {
      const shop = await this.shops.get(name);
      await this.identities.bind(shop);
      this.unusableSince.delete(name);
      this.reported.delete(name);
      return shop;
    } catch (error) {
      this.unusableSince.set(name, this.clock.elapsed());
      const isOwn = error instanceof PaymentInvalidShopError || error instanceof PaymentUnknownShopError;
      const isOfAll = !isOwn && this.clock.elapsed() - this.reportedAt < RETRY_PAUSE_MS;
      if (this.reported.has(name) || isOfAll) return undefined;
      this.reported.add(name);
      this.reportedAt = this.clock.elapsed();
      const line = `Bills of shop "${name}" are waiting. ${describeError(error)}`;
      this.logger.write('shop-unusable', line, { shop: name, error: errorType(error) });
      return undefined;
    }
  }

  /** Bills of a removed shop are kept, and checked again once the shop is back. */
  private async reportRemoved(): Promise<void> {
    const removed = await this.store.findUnfollowed(this.names);
    for (const shop of this.removed) if (!removed.some((entry) => entry.shop === shop)) this.removed.delete(shop);
    for (const { shop, bills } of removed) {
      if (this.removed.has(shop)) continue;
      this.removed.add(shop);
      this.logger.write(
        'shop-removed',
        `This instance does not, or no longer, know shop "${shop}". Its bills (${bills}) are kept but not checked here: their payments ` +
          "go unnoticed until the shop is back in the options or in the shop resolver's list.",
        { shop },
      );
    }
  }
}

/** Resolves with `late` if the work takes longer than `LOOKUP_TIMEOUT_MS`; the work then continues. */
async function withLookupTimeout<T>(work: Promise<T>): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), LOOKUP_TIMEOUT_MS);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
