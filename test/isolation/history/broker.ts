import { processOnce } from 'nestjs-payment-acceptance/inbox';
import { bounded } from './bounded.js';
import { writeEffect, type OutcomeEvent } from './handlers.js';
import { INBOX } from './history.js';
import { seatOf, type Seat, type Shop } from './seats.js';

interface Message {
  readonly event: OutcomeEvent;
  resolved: boolean;
}

/** Receives what the hosts publish and delivers each message to an inbox, on demand more than once. */
export class Broker {
  private messages: Message[] = [];

  constructor(
    private readonly seats: readonly Seat[],
    /** Hears of each `processOnce` that has resolved. */
    private readonly processed: (eventId: string, now: boolean) => void,
  ) {}

  publish(event: OutcomeEvent): void {
    this.messages.push({ event, resolved: false });
  }

  /** Delivers a message, processed or not, to one host or to both at once. */
  async deliverAny(which: number, seats: readonly number[]): Promise<void> {
    const message = this.messages[which % this.messages.length];
    if (message) await bounded(Promise.all(seats.map((seat) => this.consume(message, seat))));
  }

  /** Delivers what no inbox has processed yet; returns how many messages that were. */
  async deliverUnresolved(): Promise<number> {
    const unresolved = this.messages.filter(({ resolved }) => !resolved);
    for (const message of unresolved) await bounded(this.consume(message, 0));
    return unresolved.length;
  }

  clear(): void {
    this.messages = [];
  }

  /**
   * Hands a message to a host that may take it. The inbox works on the host's connections, without the module's
   * limits: while one hangs, the message goes to the other host, and the first is released.
   */
  private async consume(message: Message, index: number): Promise<void> {
    const seat = seatOf(this.seats, message.event.shop as Shop, index);
    const silence = seat.proxy.silence();
    const processing = this.process(message, seat);
    const hangs = await Promise.race([processing.then(() => false), silence.then(() => true)]);
    if (!hangs) return;
    const again = this.consume(message, index + 1);
    seat.proxy.release();
    await Promise.all([processing, again]);
  }

  private async process(message: Message, { instance }: Seat): Promise<void> {
    const { event } = message;
    try {
      const now = await processOnce(instance.dataSource.manager, event, (manager) =>
        writeEffect(manager, INBOX, event),
      );
      message.resolved = true;
      this.processed(event.id, now);
    } catch {
      // The message is delivered again.
    }
  }
}
