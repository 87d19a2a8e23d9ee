import type { PaymentClock } from './clock.js';
import type { LogFields, PaymentLogger } from './payment-logger.js';
import { Throttle } from './throttle.js';

interface Kind {
  readonly throttle: Throttle;
  suppressed: number;
}

/**
 * A rate-limited log, for lines that strangers can provoke at will or that an outage would repeat for every request: of each
 * kind the first line, then at most one per pause.
 */
export class RateLimitedLog {
  private readonly kinds = new Map<string, Kind>();

  constructor(
    private readonly logger: PaymentLogger,
    private readonly clock: PaymentClock,
    private readonly pauseMs = 10_000,
  ) {}

  /**
   * @param kind of low cardinality, never text from a stranger
   * @param line builds the line; its argument says how many lines were suppressed: empty, or a space and a sentence
   */
  error(kind: string, line: (leftOut: string) => string, fields: LogFields): void {
    this.log('error', kind, line, fields);
  }

  /** Like `error`. */
  warn(kind: string, line: (leftOut: string) => string, fields: LogFields): void {
    this.log('warn', kind, line, fields);
  }

  private log(level: 'error' | 'warn', name: string, line: (leftOut: string) => string, fields: LogFields): void {
    const kind = this.kinds.get(name) ?? { throttle: new Throttle(this.clock, this.pauseMs), suppressed: 0 };
    this.kinds.set(name, kind);
    if (!kind.throttle.tryTake()) {
      kind.suppressed += 1;
      return;
    }
    const { suppressed } = kind;
    kind.suppressed = 0;
    const leftOut = suppressed === 0 ? '' : ` ${suppressed} more like it since the last such line.`;
    this.logger[level](line(leftOut), fields);
  }
}
