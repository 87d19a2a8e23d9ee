import { PaymentClock } from '../common/clock.js';

/** The module's clock in a test: the sandbox's, so that both move together, also half-way through an advance. */
export class SharedClock extends PaymentClock {
  private base = 0;
  private sandboxNow = (): string => new Date(this.base).toISOString();

  /** What the sandbox counts from; the offset is taken against the very same reading. */
  readonly machine = { now: (): number => (this.base = Date.now()) };

  follow(sandbox: { now(): string }): void {
    this.sandboxNow = () => sandbox.now();
  }

  override get offsetMs(): number {
    return Date.parse(this.sandboxNow()) - this.base;
  }
}
