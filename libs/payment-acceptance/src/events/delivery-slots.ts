import { FairShare } from '../common/fair-share.js';
import type { PaymentTransactionsPool } from '../database/payment-transactions.js';
import type { EventConsumer } from './consumer.js';

export interface Offer {
  readonly consumers: readonly EventConsumer[];
  readonly limit: number;
  /** Whether other consumers that are ready have no place left. */
  readonly isFull: boolean;
}

/** The pool of a host whose handlers have no transactions. */
const NO_POOL: PaymentTransactionsPool = { size: 0, free: () => 0 };

/** All brokers count as one member: if one of them does not answer, the others rarely do. */
const BROKERS = 'brokers';

/** Connections that handlers leave free for the rest of the host. */
const RESERVED_CONNECTIONS = 1;

/**
 * Shares a worker's concurrent deliveries among its consumers, so that no hanging handler or unreachable broker holds up
 * the others. Handlers in transactions together take at most half of the pool, and only connections that are free now.
 * One handler may always run, even if no connection is free: it then waits for one like everybody else.
 */
export class DeliverySlots {
  private readonly share = new FairShare(this.concurrency);
  private readonly transactions = new FairShare(
    Math.min(this.concurrency, Math.max(1, Math.floor(this.pool.size / 2))),
  );
  private readonly members = new Map<string, { readonly shareName: string; readonly inTransaction: boolean }>();
  private consumers: readonly EventConsumer[] = [];
  private counts = { all: 0, inTransaction: 0 };

  constructor(
    private readonly concurrency: number,
    private readonly pool: PaymentTransactionsPool = NO_POOL,
  ) {}

  host(consumers: readonly EventConsumer[]): void {
    this.consumers = consumers;
    this.members.clear();
    for (const { kind, name } of consumers)
      this.members.set(name, {
        shareName: kind === 'broker' ? BROKERS : `consumer ${name}`,
        inTransaction: kind === 'transaction',
      });
    const members = [...this.members.values()];
    const count = (subset: typeof members): number => new Set(subset.map(({ shareName }) => shareName)).size;
    this.counts = { all: count(members), inTransaction: count(members.filter(({ inTransaction }) => inTransaction)) };
  }

  /** How many handlers run in transactions, and how many may with the pool as it is now. */
  get inTransactions(): { readonly running: number; readonly limit: number } {
    const running = this.transactions.taken;
    return { running, limit: running + this.freeForTransactions() };
  }

  get running(): number {
    return this.share.taken;
  }

  /**
   * A claim is no larger than the smallest share left to any consumer that it may serve: it takes the oldest deliveries
   * first, and all of them could be for that consumer.
   */
  offer(limit: number): Offer {
    const free = this.freeForTransactions();
    const ready = this.consumers
      .filter(isReady)
      .map((consumer) => ({ consumer, left: this.remainingFor(consumer.name, free) }));
    const available = ready.filter(({ left }) => left > 0);
    return {
      consumers: available.map(({ consumer }) => consumer),
      limit: Math.min(limit, ...available.map(({ left }) => left)),
      isFull: available.length < ready.length,
    };
  }

  take(consumer: string): void {
    const { shareName, inTransaction } = this.memberOf(consumer);
    this.share.acquire(shareName);
    if (inTransaction) this.transactions.acquire(shareName);
  }

  leave(consumer: string): void {
    const { shareName, inTransaction } = this.memberOf(consumer);
    this.share.release(shareName);
    if (inTransaction) this.transactions.release(shareName);
  }

  private remainingFor(consumer: string, freeForTransactions: number): number {
    const { shareName, inTransaction } = this.memberOf(consumer);
    const remaining = this.share.remainingFor(shareName, this.counts.all);
    if (!inTransaction) return remaining;
    return Math.min(
      remaining,
      this.transactions.remainingFor(shareName, this.counts.inTransaction),
      freeForTransactions,
    );
  }

  private freeForTransactions(): number {
    const { places, taken } = this.transactions;
    const minSlots = taken === 0 ? 1 : 0;
    return Math.min(places - taken, Math.max(minSlots, this.pool.free() - RESERVED_CONNECTIONS));
  }

  private memberOf(consumer: string) {
    return this.members.get(consumer) ?? { shareName: consumer, inTransaction: false };
  }
}

function isReady(consumer: EventConsumer): boolean {
  return consumer.kind !== 'broker' || consumer.isReady();
}
