import { PaymentClock } from '../common/clock.js';

/** Follows the sandbox's clock, so that both move together, even while time is being advanced. */
export class SharedClock extends PaymentClock {
  private base = 0;
  private sandboxNow = (): string => new Date(this.base).toISOString();

  /** The sandbox's base clock; the offset is computed against the same reading. */
  readonly machine = { now: (): number => (this.base = Date.now()) };

  follow(sandbox: { now(): string }): void {
    this.sandboxNow = () => sandbox.now();
  }

  override get offsetMs(): number {
    return Date.parse(this.sandboxNow()) - this.base;
  }
}
