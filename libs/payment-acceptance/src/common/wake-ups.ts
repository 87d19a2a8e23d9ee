import { Injectable } from '@nestjs/common';

/** Why to wake up: `hint`, a callback requests a check of its bill; `event`, a settlement created deliveries. */
export type WakeUp = 'hint' | 'event';

type Listener = (wakeUp: WakeUp) => void;

/** Announces work within this instance, so that it need not wait for the next poll. */
@Injectable()
export class WakeUps {
  private readonly listeners: Listener[] = [];

  listen(listener: Listener): void {
    this.listeners.push(listener);
  }

  notify(wakeUp: WakeUp): void {
    for (const listener of this.listeners) listener(wakeUp);
  }
}
