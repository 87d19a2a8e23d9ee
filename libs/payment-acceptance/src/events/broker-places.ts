import type { EventConsumer } from './consumer.js';

/** Who may be claimed for, and how much of it at once. */
export interface Offer {
  readonly consumers: readonly EventConsumer[];
  readonly most: number;
}

/**
 * The places of one worker that brokers hold. Together they get half of them at most, so that handlers go on while brokers
 * do not answer; all, where there is nobody else. What brokers leave free is for everyone.
 */
export class BrokerPlaces {
  private consumers: readonly EventConsumer[] = [];
  private brokers = new Set<string>();
  private most = 0;
  private held = 0;

  constructor(private readonly concurrency: number) {}

  host(consumers: readonly EventConsumer[]): void {
    this.consumers = consumers;
    this.brokers = new Set(consumers.filter(({ kind }) => kind === 'broker').map(({ name }) => name));
    const alone = consumers.every(({ kind }) => kind === 'broker');
    this.most = alone ? this.concurrency : Math.max(1, Math.floor(this.concurrency / 2));
  }

  /**
   * Whom the next claim may be for. One that brokers take part in is no larger than what is left to them: the oldest go
   * first, whoever they are for, and all of them could be brokers'.
   */
  offer(limit: number): Offer {
    const left = this.most - this.held;
    // Asked also when nothing is left: being asked, a broker begins to connect.
    const able = this.consumers.filter((each) => each.kind !== 'broker' || (each.ready() && left > 0));
    const shared = able.some(({ kind }) => kind === 'broker');
    return { consumers: able, most: shared ? Math.min(limit, left) : limit };
  }

  take(consumer: string): void {
    if (this.brokers.has(consumer)) this.held += 1;
  }

  leave(consumer: string): void {
    if (this.brokers.has(consumer)) this.held -= 1;
  }
}
