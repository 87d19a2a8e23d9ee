import { Inject, Injectable } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import type { ServerResponse } from 'node:http';
import { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { RateLimitedLog } from '../common/rate-limited-log.js';
import { withTimeout } from '../common/timeout.js';
import type { PaymentResult } from '../config/hooks.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import type { NotStoredAnswer } from './callback.answers.js';
import { CallbackBodies, isAborted, type CallbackBody, type ReceivedRequest } from './callback-bodies.js';
import { PaymentCallbacks } from './callback.service.js';
import { PAGE_POLICY, messagePage, neutralPage, resultPage } from './pages.js';
import type { FieldError } from './parse-body.js';

export interface Exchange {
  readonly adapter: AbstractHttpAdapter;
  readonly request: ReceivedRequest;
  readonly response: object;
}

const REFRESH_SECONDS = 2;

/**
 * Writes the answers to callbacks directly, on either adapter: the service reads the status and the body, so neither
 * may depend on the host's interceptors and filters.
 */
@Injectable()
export class CallbackResponder {
  private readonly log = new RateLimitedLog(new PaymentLogger('PaymentCallbacks'), this.clock);

  constructor(
    private readonly callbacks: PaymentCallbacks,
    private readonly bodies: CallbackBodies,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    private readonly clock: PaymentClock,
  ) {}

  /** 200 only after the postback is stored; 400 names the invalid fields; 503 makes the service send it again. */
  async postback(shop: string | undefined, exchange: Exchange): Promise<void> {
    const callbackBody = await this.take(exchange);
    if (!callbackBody) return sendJson(exchange, 503, { message: 'The body could not be read.' });
    const answer = await this.callbacks.postback(shop, callbackBody.body, callbackBody.sent);
    switch (answer.kind) {
      case 'stored': {
        const { replyContentType, replyBody } = this.options.callbacks;
        return send(exchange, answer.status, replyContentType, replyBody);
      }
      case 'unknown-shop':
        return sendJson(exchange, answer.status, { message: 'There is no such shop.' });
      case 'malformed':
        return sendJson(exchange, answer.status, malformedBody(answer.errors));
      case 'refused':
        return sendJson(exchange, answer.status, { message: 'The SignatureValue does not match.' });
      case 'not-stored':
        retryAfter(exchange, answer);
        return sendJson(exchange, answer.status, { message: 'The postback could not be stored. Send it again.' });
    }
  }

  /**
   * 303 to the result page, so that a reload does not post again.
   * @param resultPage the page's address relative to the route, without the ticket
   */
  async redirect(
    to: 'success' | 'fail',
    shop: string | undefined,
    exchange: Exchange,
    resultPage: (deeper: number) => string,
  ): Promise<void> {
    const callbackBody = await this.take(exchange);
    if (!callbackBody) return sendPage(exchange, 503, RETRY_LATER_PAGE);
    const answer = await this.callbacks.redirect(to, shop, callbackBody.body, callbackBody.sent);
    switch (answer.kind) {
      case 'result': {
        const deeper = (shop === undefined ? 0 : 1) + (hasTrailingSlash(exchange) ? 1 : 0);
        exchange.adapter.setHeader(exchange.response, 'Location', `${resultPage(deeper)}/${answer.ticket}`);
        return sendPage(exchange, answer.status, '');
      }
      case 'neutral':
        return sendPage(exchange, answer.status, neutralPage(answer.orderId));
      case 'unknown-shop':
        return sendPage(exchange, answer.status, messagePage('Unknown shop', 'There is no such shop.'));
      case 'malformed':
        return isBrowser(exchange)
          ? sendPage(exchange, answer.status, neutralPage())
          : sendJson(exchange, answer.status, malformedBody(answer.errors));
      case 'refused': {
        const text = 'This link could not be verified. Open your order in the shop to see its status.';
        return sendPage(exchange, answer.status, messagePage('Not accepted', text));
      }
      case 'not-stored':
        retryAfter(exchange, answer);
        return sendPage(exchange, answer.status, RETRY_LATER_PAGE);
    }
  }

  /** Answers a payer who goes back or opens the address again, when nothing is known of the payment. */
  neutral(exchange: Exchange): void {
    sendPage(exchange, 200, neutralPage());
  }

  async result(ticket: string, exchange: Exchange): Promise<void> {
    const answer = await this.callbacks.result(ticket);
    switch (answer.kind) {
      case 'shown':
        return this.show(answer.result, exchange);
      case 'invalid': {
        const text = 'This link is wrong or no longer works. Open your order in the shop.';
        return sendPage(exchange, answer.status, messagePage('Link not valid', text));
      }
      case 'not-stored':
        return sendPage(exchange, answer.status, RETRY_LATER_PAGE);
    }
  }

  private async show(result: PaymentResult, exchange: Exchange): Promise<void> {
    try {
      const rendering = Promise.resolve((this.options.resultPage ?? resultPage)(result));
      const rendered = await withTimeout(this.options.callbacks.storeTimeoutMs, rendering, 'resultPage');
      if (typeof rendered !== 'string') {
        exchange.adapter.setHeader(exchange.response, 'Location', headerText(rendered.redirectTo));
        return sendPage(exchange, 303, '');
      }
      if (result.result === 'pending')
        exchange.adapter.setHeader(exchange.response, 'Refresh', String(REFRESH_SECONDS));
      return this.options.resultPage ? sendHostPage(exchange, rendered) : sendPage(exchange, 200, rendered);
    } catch (error) {
      const line = (): string => `A result page could not be shown. ${describeError(error)}`;
      this.log.write('result-failed', 'page', line, { shop: result.shop, error: errorType(error) });
      return sendPage(exchange, 503, RETRY_LATER_PAGE);
    }
  }

  /** `undefined` if something else has already read the body and kept it nowhere. */
  private async take({ request }: Exchange): Promise<CallbackBody | undefined> {
    const callbackBody = await this.bodies.take(request);
    // A sender that has hung up has simply not sent it.
    if (!callbackBody && !isAborted(request)) {
      const line = (): string =>
        'Something in or before the application had already read the body of a callback, and left it in neither the ' +
        "request's body nor its rawBody. Exempt callbacks from whatever reads it, or make that store the bytes in rawBody.";
      this.log.write('body-parser-off', 'callback', line, {});
    }
    return callbackBody;
  }
}

const RETRY_LATER_PAGE = messagePage(
  'Please try again',
  'We could not process this right now. Your payment is not affected.',
);

/** A header has ASCII only; browsers decode the rest, also in a host's name. */
function headerText(address: string): string {
  return address.toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent);
}

function isBrowser({ request }: Exchange): boolean {
  return /\btext\/html\b/i.test(String(request.headers.accept));
}

function hasTrailingSlash({ request }: Exchange): boolean {
  return request.url?.split('?')[0]?.endsWith('/') ?? false;
}

function retryAfter({ adapter, response }: Exchange, { retryAfter: seconds }: NotStoredAnswer): void {
  if (seconds !== undefined) adapter.setHeader(response, 'Retry-After', String(seconds));
}

function malformedBody(errors: readonly FieldError[]): object {
  return { message: 'The request is malformed.', errors };
}

function sendJson(exchange: Exchange, status: number, body: object): void {
  send(exchange, status, 'application/json; charset=utf-8', JSON.stringify({ success: false, ...body }));
}

/** Our own pages need nothing from other sites or from the window that opened them. */
function sendPage(exchange: Exchange, status: number, html: string): void {
  exchange.adapter.setHeader(exchange.response, 'Content-Security-Policy', PAGE_POLICY);
  exchange.adapter.setHeader(exchange.response, 'Cross-Origin-Opener-Policy', 'same-origin');
  sendHostPage(exchange, html, status);
}

/**
 * A page rendered by the host, which decides what it may load and open. Its address is secret: it stays out of Referer
 * headers, the page stays out of caches, and no other site may frame or embed it.
 */
function sendHostPage(exchange: Exchange, html: string, status = 200): void {
  const { adapter, response } = exchange;
  adapter.setHeader(response, 'Cache-Control', 'no-store');
  adapter.setHeader(response, 'Referrer-Policy', 'no-referrer');
  adapter.setHeader(response, 'X-Frame-Options', 'DENY');
  adapter.setHeader(response, 'Cross-Origin-Resource-Policy', 'same-origin');
  send(exchange, status, 'text/html; charset=utf-8', html);
}

function send({ adapter, response }: Exchange, status: number, type: string, body: string): void {
  adapter.setHeader(response, 'Content-Type', type);
  adapter.setHeader(response, 'X-Content-Type-Options', 'nosniff');
  // Express's own `send` would compute an ETag, which is useless for callback answers and `no-store` pages.
  if (adapter.getType() === 'express') Object.assign(response as ServerResponse, { statusCode: status }).end(body);
  else adapter.reply(response, body, status);
}
