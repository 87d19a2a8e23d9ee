import { Catch, type ArgumentsHost, HttpException, HttpStatus } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { throwError, type Observable } from 'rxjs';
import { PaymentAcceptanceError } from '../common/errors.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { PaymentInvalidBillRequestError } from '../bills/bill.errors.js';

/** What the responses of Express and Fastify have in common. */
interface AnyResponse {
  header(name: string, value: string): unknown;
  status(status: number): { send(body: unknown): unknown };
}

interface Answer {
  readonly status: HttpStatus;
  /** Shown to whoever called the checkout, so it says nothing about the shop's set-up. */
  readonly message: string | readonly string[];
  /** Seconds after which the same call may succeed, for `Retry-After`. */
  readonly retryAfter?: number;
}

const RETRY_LATER_ANSWER: Answer = {
  status: HttpStatus.SERVICE_UNAVAILABLE,
  message: 'The payment cannot be started right now. The order is kept: try paying again.',
  retryAfter: 5,
};

/** Somebody has to act at the shop or at the service. As in {@link RETRY_LATER_ANSWER}, the payer is not told why. */
const ACTION_NEEDED_ANSWER: Answer = {
  status: HttpStatus.SERVICE_UNAVAILABLE,
  message: 'The payment cannot be started at the moment. The order is kept.',
};

const ANSWERS: Readonly<Record<string, Answer>> = {
  'unknown-shop': { status: HttpStatus.NOT_FOUND, message: 'There is no such shop.' },
  'order-cancelled': { status: HttpStatus.CONFLICT, message: 'The order is cancelled.' },
  'order-already-paid': { status: HttpStatus.CONFLICT, message: 'The order is already paid.' },
  'bill-mismatch': {
    status: HttpStatus.CONFLICT,
    message:
      'This order already has an open bill with a different amount, currency or commission share, which can still be paid. Retrying ' +
      'will not help: check the order and confirm its current price.',
  },
  'creation-in-progress': { ...RETRY_LATER_ANSWER, retryAfter: 2 },
  'bill-not-stored': { ...RETRY_LATER_ANSWER, retryAfter: 2 },
  'application-stopping': { ...RETRY_LATER_ANSWER, retryAfter: 1 },
  network: RETRY_LATER_ANSWER,
  'service-unavailable': RETRY_LATER_ANSWER,
  'answer-not-understood': RETRY_LATER_ANSWER,
  'unknown-outcome': RETRY_LATER_ANSWER,
  'shop-resolver': RETRY_LATER_ANSWER,
  aborted: RETRY_LATER_ANSWER,
  'database-error': RETRY_LATER_ANSWER,
  'statement-timeout': RETRY_LATER_ANSWER,
  'pool-exhausted': RETRY_LATER_ANSWER,
  'read-only-database': RETRY_LATER_ANSWER,
};

const OPERATOR_STATUS = {
  'not-found': HttpStatus.NOT_FOUND,
  busy: HttpStatus.CONFLICT,
  refused: HttpStatus.BAD_REQUEST,
} as const;

/** `PaymentOperatorActionError`, whose entry point builds on this one. */
type OperatorActionError = PaymentAcceptanceError & { readonly reason: keyof typeof OPERATOR_STATUS };

function isOperatorAction(error: PaymentAcceptanceError): error is OperatorActionError {
  return error.code === 'operator-action';
}

/**
 * The HTTP exception that a checkout should answer with instead of a bare 500, for an error that `createBill` or another
 * method of the module has thrown. Its body is Nest's usual one plus the error's `code`; its `cause` is the error, which
 * belongs in a log, not in an answer. {@link PaymentExceptionFilter} does this for HTTP; call it yourself in a filter of
 * your own.
 *
 * - 503 if the service or the database does not answer, or the outcome is unknown: the order can be paid again
 * - 503 without `retryAfter` if somebody has to act first: a refused token, a banned merchant, an invalid shop
 * - 409 if the order is paid already or cancelled, or its open bill differs from the request
 * - 404 for an unknown shop
 * - 400 for a request that cannot be sent, with a sentence for each unusable field
 * - 400, 404 or 409 with the error's message for an operator's request that cannot be carried out
 */
export function paymentHttpException(error: PaymentAcceptanceError): PaymentHttpException {
  return new PaymentHttpException(error, answerTo(error));
}

function answerTo(error: PaymentAcceptanceError): Answer {
  if (error instanceof PaymentInvalidBillRequestError)
    return { status: HttpStatus.BAD_REQUEST, message: error.problems };
  if (isOperatorAction(error)) return { status: OPERATOR_STATUS[error.reason], message: error.message };
  return ANSWERS[error.code] ?? ACTION_NEEDED_ANSWER;
}

/** The answer to a call that failed with an error of the module. Made by {@link paymentHttpException}. */
export class PaymentHttpException extends HttpException {
  /** Seconds after which the same call may succeed; absent if waiting alone does not help. */
  readonly retryAfter?: number;

  /** @internal */
  constructor(error: PaymentAcceptanceError, { status, message, retryAfter }: Answer) {
    super({ statusCode: status, message, code: error.code }, status, { cause: error });
    if (retryAfter !== undefined) this.retryAfter = retryAfter;
  }
}

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
    // A microservice transport answers with what a filter returns, and nobody catches what a filter throws.
    if (host.getType() === 'rpc') return throwError(() => error);
    if (host.getType() !== 'http') throw error;
    const exception = paymentHttpException(error);
    if (exception.getStatus() >= 500) this.logger.write('checkout-failed', error.message, { error: error.code });
    const response = host.switchToHttp().getResponse<AnyResponse>();
    const retryAfter = exception.retryAfter === undefined ? undefined : String(exception.retryAfter);
    const adapter = this.applicationRef ?? this.httpAdapterHost?.httpAdapter;
    if (adapter) {
      if (retryAfter !== undefined) adapter.setHeader(response, 'Retry-After', retryAfter);
      super.catch(exception, host);
      return undefined;
    }
    // Made by hand with `new`, so Nest has injected nothing.
    if (retryAfter !== undefined) response.header('Retry-After', retryAfter);
    response.status(exception.getStatus()).send(exception.getResponse());
    return undefined;
  }
}
