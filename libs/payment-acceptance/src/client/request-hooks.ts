import type { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import { PaymentLogger } from '../common/payment-logger.js';
import type { PaymentRandom } from '../common/random.js';
import type { ServiceHttpHooks, ServiceRequestInfo, ServiceResponseInfo } from '../config/hooks.js';

/** How a request ended, as far as its sender knows. */
export type RequestEnd = Pick<ServiceResponseInfo, 'status' | 'error'>;

/** Calls the host's hooks. Nothing that they do affects the request. */
export class RequestHooks {
  private readonly logger = new PaymentLogger('PaymentHttpHooks');

  constructor(
    private readonly hooks: ServiceHttpHooks,
    private readonly random: PaymentRandom,
    private readonly clock: PaymentClock,
  ) {}

  /** Call before a request; call the returned function with its end. */
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
    // Resolving also catches the rejections of promises and other thenables.
    new Promise((resolve) => resolve(this.hooks[name]?.(info))).catch((error: unknown) => {
      const line = `The hook ${name} failed; the request goes on. ${describeError(error)}`;
      this.logger.write('hook-failed', line, { shop: info.shop, error: errorType(error) });
    });
  }
}
