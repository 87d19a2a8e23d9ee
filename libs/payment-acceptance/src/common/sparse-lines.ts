import type { PaymentClock } from './clock.js';
import { NowAndThen } from './now-and-then.js';

const PAUSE_MS = 10_000;

interface Kind {
  readonly turn: NowAndThen;
  untold: number;
}

/**
 * Lines of a log about what strangers can cause at will, or what an outage does to everybody who comes: of each kind the
 * first one, then one in ten seconds, which says how many there were between.
 */
export class SparseLines {
  private readonly kinds = new Map<string, Kind>();

  constructor(private readonly clock: PaymentClock) {}

  /**
   * What to add to the line, empty where there is nothing to add; `undefined` where it is not its turn.
   * @param kind one of few, never a stranger's text
   */
  turn(kind: string): string | undefined {
    let known = this.kinds.get(kind);
    if (!known) this.kinds.set(kind, (known = { turn: new NowAndThen(this.clock, PAUSE_MS), untold: 0 }));
    if (!known.turn.isDue()) {
      known.untold += 1;
      return undefined;
    }
    const { untold } = known;
    known.untold = 0;
    return untold === 0 ? '' : ` ${untold} more like it since the last such line.`;
  }
}
