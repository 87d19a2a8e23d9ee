import { Injectable } from '@nestjs/common';

/** Why to wake up: `hint`, a callback requests a check of its bill; `event`, a settlement created deliveries. */
export type WakeUp = 'hint' | 'event';

/**
 * Announces work within this instance, so that it need not wait for the next poll. A listener forwards it to the other
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
