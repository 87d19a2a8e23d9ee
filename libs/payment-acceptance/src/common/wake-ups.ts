import { Injectable } from '@nestjs/common';

/** What there is to do: `hint`, a callback asks for a check of its bill; `event`, a settlement has made deliveries. */
export type WakeUp = 'hint' | 'event';

/**
 * Says within this instance that there is work, so that it need not wait for a poll. Who listens also tells the other
 * instances.
 */
@Injectable()
export class WakeUps {
  private readonly listeners: ((wakeUp: WakeUp) => void)[] = [];

  listen(listener: (wakeUp: WakeUp) => void): void {
    this.listeners.push(listener);
  }

  tell(wakeUp: WakeUp): void {
    for (const listener of this.listeners) listener(wakeUp);
  }
}
