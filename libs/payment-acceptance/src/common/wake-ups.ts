import { Injectable } from '@nestjs/common';

/** Why to wake up: `hint`, a callback requests a check of its bill; `event`, a settlement created deliveries. */
export type WakeUp = 'hint' | 'event';

/** A callback, and the bill that it names: by the service's id, by ours, or by both. */
export interface HintedBill {
  readonly id: string;
  readonly shop: string;
  readonly billId: string | null;
  readonly intentId: string | null;
}

type Listener = (wakeUp: WakeUp, bill?: HintedBill) => void;

/** Announces work within this instance, so that it need not wait for the next poll. */
@Injectable()
export class WakeUps {
  private readonly listeners: Listener[] = [];

  listen(listener: Listener): void {
    this.listeners.push(listener);
  }

  /** @param bill the hinted bill, if it is only one */
  notify(wakeUp: WakeUp, bill?: HintedBill): void {
    for (const listener of this.listeners) listener(wakeUp, bill);
  }
}
