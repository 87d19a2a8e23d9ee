import type { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import { PaymentLogger } from '../common/payment-logger.js';
import type { PaymentRandom } from '../common/random.js';
import type { ServiceHttpHooks, ServiceRequestInfo, ServiceResponseInfo } from '../config/hooks.js';

/** How a request ended, as far as its sender knows it. */
export type RequestEnd = Pick<ServiceResponseInfo, 'status' | 'error'>;

/** Tells the host's hooks of requests. Nothing that they do reaches the request. */
export class RequestHooks {
  private readonly logger = new PaymentLogger('PaymentHttpHooks');

  constructor(
    private readonly hooks: ServiceHttpHooks,
    private readonly random: PaymentRandom,
    private readonly clock: PaymentClock,
  ) {}

  /** Before a request; what it gives is called with the end of it. */
  begin(describe: () => Omit<ServiceRequestInfo, 'id' | 'startedAt'>): (end: RequestEnd) => void {
    if (!this.hooks.beforeRequest && !this.hooks.afterResponse) return () => undefined;
    const info: ServiceRequestInfo = { id: this.random.uuid(), ...describe(), startedAt: this.clock.now() };
    const begun = performance.now();
    this.call('beforeRequest', { ...info, fields: { ...info.fields } });
    return (end) => this.call('afterResponse', { ...info, ...end, durationMs: Math.round(performance.now() - begun) });
  }

  private call(name: 'beforeRequest', info: ServiceRequestInfo): void;
  private call(name: 'afterResponse', info: ServiceResponseInfo): void;
  private call(name: keyof ServiceHttpHooks, info: ServiceResponseInfo & ServiceRequestInfo): void {
    // A promise may reject, and whatever else is thenable too.
    new Promise((resolve) => resolve(this.hooks[name]?.(info))).catch((error: unknown) => {
      this.logger.error(`The hook ${name} failed; the request goes on. ${describeError(error)}`, {
        shop: info.shop,
        error: errorType(error),
      });
    });
  }
}
