import {
  Catch,
  HttpException,
  HttpStatus,
  Logger,
  type ArgumentsHost,
  type ExceptionFilter,
  type HttpServer,
} from '@nestjs/common';
import { PaymentBillError, PaymentBillMismatchError, PaymentAcceptanceError } from 'nestjs-payment-acceptance';
import { OrderNotBilledError } from '../orders/orders.service.js';
import { messagePage } from './layout.js';
import { priceChangedPage } from './price-changed.page.js';

interface Answer {
  readonly statusCode: number;
  readonly message: string | string[];
  readonly code?: string;
}

const NOT_STARTED_MESSAGE = 'The payment could not be started. Try again in a moment.';

/** Answers errors as JSON under `/api` and as a page elsewhere. Internal errors reveal no details. */
@Catch()
export class PageExceptionFilter implements ExceptionFilter {
  private readonly logger = new Logger('Shop');

  constructor(private readonly adapter: HttpServer) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const notBilled = thrown instanceof OrderNotBilledError ? thrown : undefined;
    const error = notBilled ? notBilled.cause : thrown;
    const request = host.switchToHttp().getRequest<{ readonly url: string }>();
    const response = host.switchToHttp().getResponse<object>();
    const status = statusOf(error);
    if (status >= 500) this.logger.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
    const body = bodyOf(error, status);
    if (request.url.startsWith('/api/')) {
      this.adapter.reply(response, { ...body, ...(notBilled && { id: notBilled.orderId }) }, status);
      return;
    }
    // The order's page offers to pay; buying again would create another order.
    if (notBilled) return void this.adapter.redirect(response, HttpStatus.SEE_OTHER, `/orders/${notBilled.orderId}`);
    const page =
      error instanceof PaymentBillMismatchError
        ? priceChangedPage(error)
        : messagePage('That did not work', textOf(error, body));
    this.adapter.setHeader(response, 'Content-Type', 'text/html; charset=utf-8');
    this.adapter.reply(response, page, status);
  }
}

/** What a buyer can do: the errors' own messages are for developers. */
const SENTENCES: Readonly<Record<string, string>> = {
  'order-already-paid':
    'We have received a payment for this order. Do not pay again: if the amount is wrong, we will write to you.',
  'order-cancelled': 'This order is cancelled. Order again if you still want it.',
  'creation-in-progress': 'Your payment page is being prepared. Try again in a moment.',
  'bill-not-stored': 'Your payment page is being prepared. Try again in a moment.',
};

function textOf(error: unknown, { message }: Answer): string {
  if (error instanceof PaymentBillError) return SENTENCES[error.code] ?? NOT_STARTED_MESSAGE;
  return [message].flat().join(' ');
}

function statusOf(error: unknown): number {
  if (error instanceof HttpException) return error.getStatus();
  if (error instanceof PaymentBillError && error.code !== 'unknown-outcome' && error.code !== 'bill-address')
    return 409;
  return error instanceof PaymentAcceptanceError ? 502 : 500;
}

function bodyOf(error: unknown, status: number): Answer {
  if (error instanceof HttpException) {
    const answer = error.getResponse();
    const message =
      typeof answer === 'object' && 'message' in answer ? (answer.message as string | string[]) : error.message;
    return { statusCode: status, message };
  }
  if (status === 409 && error instanceof PaymentBillError)
    return { statusCode: status, message: error.message, code: error.code };
  const message = status === 502 ? NOT_STARTED_MESSAGE : 'Something went wrong.';
  return { statusCode: status, message, ...(error instanceof PaymentAcceptanceError && { code: error.code }) };
}
