import { Inject, Injectable, Logger } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { describeError } from '../common/errors.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { CallbackService } from './callback.service.js';
import { PAGE_POLICY, messagePage, neutralPage, resultPage } from './pages.js';
import type { FieldError } from './parse-body.js';

/** What Express's and Fastify's requests and responses have in common, as far as it is needed. */
export interface AnyRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly url?: string;
  /** There where the application was created with `rawBody: true`. */
  readonly rawBody?: Buffer;
}
export type AnyResponse = object;

export interface Exchange {
  readonly adapter: AbstractHttpAdapter;
  readonly request: AnyRequest;
  readonly response: AnyResponse;
}

/** Seconds after which a page that says "being checked" looks again. */
const REFRESH_S = 2;

/**
 * Writes the answers to callbacks by itself, on either adapter: the service reads the status and the body, so neither
 * may depend on a host's interceptors and filters.
 */
@Injectable()
export class CallbackResponder {
  private readonly logger = new Logger('PaymentCallbacks');

  constructor(
    private readonly callbacks: CallbackService,
    private readonly shops: ShopRegistry,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /** 200 only after the postback is stored; 400 names the fields; 503 makes the service send it again. */
  async postback(shopName: string | undefined, body: unknown, exchange: Exchange): Promise<void> {
    const shop = this.shopOf(shopName);
    if (!shop) return json(exchange, 404, { message: 'There is no such shop.' });
    if (this.parserIsOff(body, exchange)) return json(exchange, 503, { message: 'The body could not be read.' });
    const { rawBody, headers } = exchange.request;
    const contentType = headers['content-type'];
    const answer = await this.callbacks.postback(shop, body, {
      ...(rawBody && { rawBody }),
      ...(typeof contentType === 'string' && { contentType }),
    });
    switch (answer.kind) {
      case 'stored':
        return send(exchange, 200, 'text/plain; charset=utf-8', this.options.callbacks.replyBody);
      case 'malformed':
        return json(exchange, 400, malformed(answer.errors));
      case 'refused':
        return json(exchange, 403, { message: 'The SignatureValue does not match.' });
      case 'not-stored':
        return json(exchange, 503, { message: 'The postback could not be stored. Send it again.' });
    }
  }

  /** 303 to the result page, so that a reload does not post again; relative, so that a host's prefix stays in it. */
  async redirect(
    kind: 'redirect-success' | 'redirect-fail',
    shopName: string | undefined,
    body: unknown,
    exchange: Exchange,
  ): Promise<void> {
    const shop = this.shopOf(shopName);
    if (!shop) return page(exchange, 404, messagePage('Unknown shop', 'There is no such shop.'));
    if (this.parserIsOff(body, exchange)) return page(exchange, 503, UNREADABLE);
    const answer = await this.callbacks.redirect(shop, kind, body);
    switch (answer.kind) {
      case 'result':
        exchange.adapter.setHeader(exchange.response, 'Location', resultLocation(answer.ticket, shopName, exchange));
        return page(exchange, 303, '');
      case 'neutral':
        return page(exchange, 200, neutralPage(answer.orderId));
      case 'malformed':
        return json(exchange, 400, malformed(answer.errors));
      case 'refused':
        return page(
          exchange,
          403,
          messagePage('Not accepted', 'This link was changed on its way. Open your order in the shop.'),
        );
      case 'not-stored':
        return page(exchange, 503, UNREADABLE);
    }
  }

  async result(ticket: string, exchange: Exchange): Promise<void> {
    try {
      const result = await this.callbacks.result(ticket);
      if (!result) {
        const text = 'This link is wrong or no longer works. Open your order in the shop.';
        return page(exchange, 404, messagePage('Link not valid', text));
      }
      const rendered = await (this.options.resultPage ?? resultPage)(result);
      if (typeof rendered !== 'string') {
        exchange.adapter.setHeader(exchange.response, 'Location', rendered.redirectTo);
        return page(exchange, 303, '');
      }
      if (result.result === 'pending') exchange.adapter.setHeader(exchange.response, 'Refresh', String(REFRESH_S));
      return this.options.resultPage ? hostPage(exchange, rendered) : page(exchange, 200, rendered);
    } catch (error) {
      this.logger.error(`A result page could not be shown. ${describeError(error)}`);
      return page(exchange, 503, UNREADABLE);
    }
  }

  private shopOf(name: string | undefined): Shop | undefined {
    return name === undefined ? this.shops.default : this.shops.find(name);
  }

  /** A body that was sent and is not there: the host has switched its body parser off. */
  private parserIsOff(body: unknown, { request }: Exchange): boolean {
    const { 'content-length': length, 'transfer-encoding': chunked } = request.headers;
    if (body !== undefined || !(Number(length) > 0 || chunked !== undefined)) return false;
    const type = String(request.headers['content-type'] ?? '');
    if (!/^application\/(json|x-www-form-urlencoded)\s*(;|$)/i.test(type)) return false;
    this.logger.error(
      'A callback arrived with a body, but the application parsed none. Leave the body parser on: NestFactory.create(AppModule) ' +
        'without { bodyParser: false }, or register parsers for JSON and forms on the callback routes.',
    );
    return true;
  }
}

const UNREADABLE = messagePage(
  'Please try again',
  'We could not take this in right now. Your payment is not affected.',
);

/** From `…/success`, `…/success/` or `…/success/:shop` to `…/result/:ticket`. */
function resultLocation(ticket: string, shopName: string | undefined, { request }: Exchange): string {
  const trailingSlash = request.url?.split('?')[0]?.endsWith('/') ?? false;
  return `${'../'.repeat((shopName === undefined ? 0 : 1) + (trailingSlash ? 1 : 0))}result/${ticket}`;
}

function malformed(errors: readonly FieldError[]): object {
  return { message: 'The request is malformed.', errors };
}

function json(exchange: Exchange, status: number, body: object): void {
  send(exchange, status, 'application/json; charset=utf-8', JSON.stringify({ success: false, ...body }));
}

function page(exchange: Exchange, status: number, html: string): void {
  exchange.adapter.setHeader(exchange.response, 'Content-Security-Policy', PAGE_POLICY);
  hostPage(exchange, html, status);
}

/** A page drawn by the host: its policy is the host's, all else is as on our own. */
function hostPage(exchange: Exchange, html: string, status = 200): void {
  const { adapter, response } = exchange;
  adapter.setHeader(response, 'Cache-Control', 'no-store');
  adapter.setHeader(response, 'Referrer-Policy', 'no-referrer');
  adapter.setHeader(response, 'X-Content-Type-Options', 'nosniff');
  adapter.setHeader(response, 'X-Frame-Options', 'DENY');
  send(exchange, status, 'text/html; charset=utf-8', html);
}

function send({ adapter, response }: Exchange, status: number, type: string, body: string): void {
  adapter.setHeader(response, 'Content-Type', type);
  adapter.reply(response, body, status);
}
