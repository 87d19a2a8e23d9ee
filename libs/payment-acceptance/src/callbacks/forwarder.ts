import { Inject, Injectable } from '@nestjs/common';
import { cleanLine, describeError, errorType } from '../common/errors.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { within } from '../common/time-limit.js';
import type { ForwardedPostback } from '../config/forward.types.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { CallbackStore } from '../storage/callback.store.js';
import { maskCards } from '../common/redact.js';

/** `own`: a bill of ours, or nobody to forward to. `failed`: nobody knows whether it was taken. */
export type Forwarded = 'own' | 'accepted' | 'declined' | 'failed';

/**
 * Hands postbacks of bills that are not ours to the integration that made them (assumed; an option of the cut-over).
 * Whether a bill is ours is asked of our own records. A bill of ours whose creation has not been answered yet is not
 * there: its postback is handed over too, and the other side declines or fails, which loses nothing.
 */
@Injectable()
export class Forwarder {
  private readonly logger = new PaymentLogger('PaymentCallbacks');

  constructor(
    private readonly callbacks: CallbackStore,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  async offer(postback: ForwardedPostback): Promise<Forwarded> {
    const { forwardUnknown, forwardTimeoutMs, storeTimeoutMs } = this.options.callbacks;
    if (!forwardUnknown) return 'own';
    const own = this.callbacks.isOfOwnBill(postback.shop, postback.billId);
    if (await within(storeTimeoutMs, own)) return 'own';
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
      const { shop } = postback;
      const billId = cleanLine(maskCards(postback.billId));
      this.logger.error(
        `A postback of bill "${billId}" of shop "${shop}" could not be forwarded; it is asked for again. ${describeError(error)}`,
        { shop, billId, callback: 'postback', error: errorType(error) },
      );
      return 'failed';
    } finally {
      clearTimeout(timer);
    }
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
