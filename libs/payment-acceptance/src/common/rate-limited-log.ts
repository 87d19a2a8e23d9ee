import type { PaymentClock } from './clock.js';
import type { LogCode } from './log-lines.js';
import type { LogFields, PaymentLogger } from './payment-logger.js';
import { Throttle } from './throttle.js';

interface KindState {
  readonly throttle: Throttle;
  suppressed: number;
}

/**
 * For lines that outsiders can provoke at will, or that an outage would repeat for every request: writes the first line
 * of each kind, then at most one per pause. Its field `suppressed` says how many were left out before it.
 */
export class RateLimitedLog {
  private readonly kinds = new Map<string, KindState>();

  constructor(
    private readonly logger: PaymentLogger,
    private readonly clock: PaymentClock,
    private readonly pauseMs = 10_000,
  ) {}

  /**
   * @param kind within the code, of low cardinality, never external text
   * @param message called for lines that are written
   */
  write(code: LogCode, kind: string, message: () => string, fields: LogFields): void {
    const key = `${code} ${kind}`;
    const entry = this.kinds.get(key) ?? { throttle: new Throttle(this.clock, this.pauseMs), suppressed: 0 };
    this.kinds.set(key, entry);
    if (!entry.throttle.tryTake()) {
      entry.suppressed += 1;
      return;
    }
    const { suppressed } = entry;
    entry.suppressed = 0;
    this.logger.write(code, message(), suppressed === 0 ? fields : { ...fields, suppressed });
  }
}
