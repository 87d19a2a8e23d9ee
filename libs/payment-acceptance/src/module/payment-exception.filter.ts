import { Catch, type ArgumentsHost, type HttpException } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { throwError, type Observable } from 'rxjs';
import { PaymentAcceptanceError } from '../common/errors.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { paymentHttpException } from './http-exceptions.js';

/**
 * Answers a checkout's call that failed with an error of the module: a 503 with `Retry-After` where the order can be paid
 * again, never a bare 500. {@link paymentHttpException} lists the answers. What is not the caller's mistake is logged.
 *
 * Put `@UseFilters(PaymentExceptionFilter)` on your controller, or provide it for all as `APP_FILTER`. Calls of
 * GraphQL and messages of microservices get the error itself. Not for WebSocket gateways.
 */
@Catch(PaymentAcceptanceError)
export class PaymentExceptionFilter extends BaseExceptionFilter<PaymentAcceptanceError | HttpException> {
  private readonly logger = new PaymentLogger('PaymentExceptionFilter');

  override catch(error: PaymentAcceptanceError, host: ArgumentsHost): Observable<never> | undefined {
    // A transport answers what a filter returns, and nobody catches what it throws.
    if (host.getType() === 'rpc') return throwError(() => error);
    if (host.getType() !== 'http') throw error;
    const exception = paymentHttpException(error);
    if (exception.getStatus() >= 500) this.logger.write('checkout-failed', error.message, { error: error.code });
    const adapter = this.applicationRef ?? this.httpAdapterHost?.httpAdapter;
    if (exception.retryAfter !== undefined) {
      adapter?.setHeader(host.getArgByIndex(1), 'Retry-After', String(exception.retryAfter));
    }
    super.catch(exception, host);
    return undefined;
  }
}
