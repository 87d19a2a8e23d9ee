import { FairShare } from '../common/fair-share.js';
import type { EventConsumer } from './consumer.js';

/** Whom the next claim may be for, and how many deliveries it may take. */
export interface Offer {
  readonly consumers: readonly EventConsumer[];
  readonly limit: number;
}

/** All brokers together are one member: one that does not answer is rarely the only one. */
const BROKERS = 'brokers';

/** The slots of one worker, which consumers share: no handler that hangs, and no broker that is away, holds up the others. */
export class DeliverySlots {
  private readonly share: FairShare;
  private consumers: readonly EventConsumer[] = [];
  /** The member that each consumer's deliveries count for. */
  private members = new Map<string, string>();

  constructor(concurrency: number) {
    this.share = new FairShare(concurrency);
  }

  host(consumers: readonly EventConsumer[]): void {
    this.consumers = consumers;
    this.members = new Map(consumers.map(({ kind, name }) => [name, kind === 'broker' ? BROKERS : `consumer ${name}`]));
  }

  /**
   * A claim is no larger than the smallest share that is left among those it may be for: the oldest go first, whoever they
   * are for, and all of them could be of one.
   */
  offer(limit: number): Offer {
    const able = this.consumers.filter(
      (each) => this.left(each.name) > 0 && (each.kind !== 'broker' || each.isReady()),
    );
    return { consumers: able, limit: Math.min(limit, ...able.map(({ name }) => this.left(name))) };
  }

  take(consumer: string): void {
    this.share.take(this.memberOf(consumer));
  }

  leave(consumer: string): void {
    this.share.leave(this.memberOf(consumer));
  }

  private left(consumer: string): number {
    return this.share.left(this.memberOf(consumer), new Set(this.members.values()).size);
  }

  private memberOf(consumer: string): string {
    return this.members.get(consumer) ?? consumer;
  }
}
