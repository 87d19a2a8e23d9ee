import type { EventConsumer } from './consumer.js';

/** Who may be claimed for, and how much of it at once. */
export interface Offer {
  readonly consumers: readonly EventConsumer[];
  readonly limit: number;
}

/**
 * The slots of one worker that brokers hold. Together they get half of them at most, so that handlers go on while brokers
 * do not answer; all, where there is nobody else. What brokers leave free is for everyone.
 */
export class BrokerSlots {
  private consumers: readonly EventConsumer[] = [];
  private brokers = new Set<string>();
  private limit = 0;
  private held = 0;

  constructor(private readonly concurrency: number) {}

  host(consumers: readonly EventConsumer[]): void {
    this.consumers = consumers;
    this.brokers = new Set(consumers.filter(({ kind }) => kind === 'broker').map(({ name }) => name));
    const alone = consumers.every(({ kind }) => kind === 'broker');
    this.limit = alone ? this.concurrency : Math.max(1, Math.floor(this.concurrency / 2));
  }

  /**
   * Whom the next claim may be for. One that brokers take part in is no larger than what is left to them: the oldest go
   * first, whoever they are for, and all of them could be brokers'.
   */
  offer(limit: number): Offer {
    const left = this.limit - this.held;
    const able = this.consumers.filter((each) => each.kind !== 'broker' || (left > 0 && each.isReady()));
    const shared = able.some(({ kind }) => kind === 'broker');
    return { consumers: able, limit: shared ? Math.min(limit, left) : limit };
  }

  take(consumer: string): void {
    if (this.brokers.has(consumer)) this.held += 1;
  }

  leave(consumer: string): void {
    if (this.brokers.has(consumer)) this.held -= 1;
  }
}
