import {
  Catch,
  HttpException,
  Logger,
  type ArgumentsHost,
  type ExceptionFilter,
  type HttpServer,
} from '@nestjs/common';
import { BillError, PaymentAcceptanceError } from 'nestjs-payment-acceptance';
import { messagePage } from './layout.js';

/** Answers errors as JSON under `/api` and as a page elsewhere. Our own failures say nothing of their inside. */
@Catch()
export class PageExceptionFilter implements ExceptionFilter {
  private readonly logger = new Logger('Shop');

  constructor(private readonly adapter: HttpServer) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<{ readonly url: string }>();
    const response = host.switchToHttp().getResponse<object>();
    const status = statusOf(error);
    if (status >= 500) this.logger.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
    const body = bodyOf(error, status);
    if (request.url.startsWith('/api/')) {
      this.adapter.reply(response, body, status);
      return;
    }
    const page = messagePage('Not possible', [body.message].flat().join(' '));
    this.adapter.setHeader(response, 'Content-Type', 'text/html; charset=utf-8');
    this.adapter.reply(response, page, status);
  }
}

function statusOf(error: unknown): number {
  if (error instanceof HttpException) return error.getStatus();
  if (error instanceof BillError && error.code !== 'unknown-outcome' && error.code !== 'bill-address') return 409;
  return error instanceof PaymentAcceptanceError ? 502 : 500;
}

function bodyOf(error: unknown, status: number): { statusCode: number; message: string | string[]; code?: string } {
  if (error instanceof HttpException) {
    const answer = error.getResponse();
    const message =
      typeof answer === 'object' && 'message' in answer ? (answer.message as string | string[]) : error.message;
    return { statusCode: status, message };
  }
  if (status === 409 && error instanceof BillError)
    return { statusCode: status, message: error.message, code: error.code };
  const message = status === 502 ? 'The payment could not be started. Try again in a moment.' : 'Something went wrong.';
  return { statusCode: status, message, ...(error instanceof PaymentAcceptanceError && { code: error.code }) };
}
