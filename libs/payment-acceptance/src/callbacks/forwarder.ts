import { Inject, Injectable } from '@nestjs/common';
import { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { maskCards } from '../common/redact.js';
import { RateLimitedLog } from '../common/rate-limited-log.js';
import { cleanLine } from '../common/text.js';
import { withTimeout } from '../common/timeout.js';
import type { ForwardedPostback, ForwardPostback } from '../config/hooks.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { NamedBillStore } from './storage/named-bill.store.js';
import { DroppedCallbacks } from './dropped-callbacks.js';

/** `own`: the bill is ours, or forwarding is off. `failed`: it is unknown whether the other side took it. */
export type Forwarded = 'own' | 'accepted' | 'declined' | 'failed';

/**
 * Forwards postbacks of bills that are not ours to the integration that created them (assumed; an option for the
 * cut-over). Our own records decide whether a bill is ours. A bill of ours whose creation is still unanswered is not in
 * them: its postback is forwarded, too, and also stored here for its bill, whatever the other side answers.
 */
@Injectable()
export class Forwarder {
  private running = 0;
  private readonly log: RateLimitedLog;

  constructor(
    private readonly bills: NamedBillStore,
    private readonly overload: DroppedCallbacks,
    clock: PaymentClock,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {
    this.log = new RateLimitedLog(new PaymentLogger('PaymentCallbacks'), clock);
  }

  async offer(postback: ForwardedPostback): Promise<Forwarded> {
    const { forwardUnknown, maxForwards, storeTimeoutMs } = this.options.callbacks;
    if (!forwardUnknown) return 'own';
    const own = this.bills.isOurs(postback.shop, postback.billId);
    if (await withTimeout(storeTimeoutMs, own)) return 'own';
    if (this.running >= maxForwards) {
      this.overload.count('delayedForwards', postback.shop);
      return 'failed';
    }
    this.running += 1;
    return this.forward(forwardUnknown, postback).finally(() => (this.running -= 1));
  }

  private async forward(forwardUnknown: ForwardPostback, postback: ForwardedPostback): Promise<Forwarded> {
    const { forwardTimeoutMs } = this.options.callbacks;
    const limit = new AbortController();
    const timer = setTimeout(
      () => limit.abort(new Error(`It took longer than ${forwardTimeoutMs} ms.`)),
      forwardTimeoutMs,
    );
    try {
      const taken: unknown = await Promise.race([forwardUnknown(postback, limit.signal), aborted(limit.signal)]);
      if (typeof taken !== 'boolean') throw new TypeError('callbacks.forwardUnknown must resolve to true or false.');
      return taken ? 'accepted' : 'declined';
    } catch (error) {
      this.logFailure(postback, error);
      return 'failed';
    } finally {
      clearTimeout(timer);
    }
  }

  /** Rate-limited and sanitised: strangers can cause failures at will, with made-up bill ids. */
  private logFailure({ shop, billId: named }: ForwardedPostback, error: unknown): void {
    const billId = cleanLine(maskCards(named));
    const what = `A postback of bill "${billId}" of shop "${shop}" could not be forwarded; it is asked for again.`;
    const fields = { shop, billId, callback: 'postback', error: errorType(error) };
    this.log.write('forward-failed', shop, () => `${what} ${describeError(error)}`, fields);
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
