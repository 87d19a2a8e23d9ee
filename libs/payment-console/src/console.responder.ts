import { Inject, Injectable, Logger } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { PaymentUnknownShopError } from 'nestjs-payment-acceptance';
import {
  describePaymentError,
  PaymentOperations,
  PaymentRecords,
  PaymentReviews,
} from 'nestjs-payment-acceptance/operations';
import { CsrfTokens } from './common/csrf-tokens.js';
import { html } from './common/html.js';
import { addressOf, linksFrom } from './common/links.js';
import type { ConsoleRequest } from './common/options.js';
import { layout } from './pages/layout.js';
import { CONSOLE_OPTIONS, type ResolvedConsoleOptions } from './resolved-options.js';
import { STYLE } from './common/style.js';
import { ConsoleRefusal, type Page, type Redirect, type PageContext } from './common/page-context.js';

export interface Exchange {
  readonly adapter: AbstractHttpAdapter;
  readonly request: ConsoleRequest;
  readonly response: object;
  /** How many segments the address has below the console's own address. */
  readonly depth: number;
}

/** No script runs, whatever an external field contains; the pages cannot be framed, and forms post only here. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** Writes responses itself, on either adapter, so that a host's interceptors and filters do not change them. */
@Injectable()
export class ConsoleResponder {
  private readonly logger = new Logger('PaymentConsole');

  constructor(
    @Inject(CONSOLE_OPTIONS) private readonly options: ResolvedConsoleOptions,
    private readonly operations: PaymentOperations,
    private readonly reviews: PaymentReviews,
    private readonly records: PaymentRecords,
  ) {}

  async show(exchange: Exchange, make: (context: PageContext) => Promise<Page | Redirect>): Promise<void> {
    const { adapter, request, response, depth } = exchange;
    const address = addressOf(request);
    const csrf = new CsrfTokens(request);
    const anonymousContext: PageContext = {
      operator: undefined,
      scope: NO_SHOP,
      operations: this.operations,
      reviews: this.reviews,
      records: this.records,
      query: address.searchParams,
      link: linksFrom(address, this.options.name, depth),
      csrf,
      foreign: !['same-origin', 'none', undefined].includes(request.headers['sec-fetch-site'] as string | undefined),
    };
    const [context, answer] = await this.answer(request, anonymousContext, make);
    if (csrf.cookie !== undefined) adapter.appendHeader(response, 'Set-Cookie', csrf.cookie);
    adapter.setHeader(response, 'Cache-Control', 'no-store');
    if ('to' in answer) {
      adapter.setHeader(response, 'Location', context.link(answer.to, answer.query));
      return send(exchange, 303, 'text/html; charset=utf-8', '');
    }
    send(exchange, answer.status ?? 200, 'text/html; charset=utf-8', layout(context, answer));
  }

  /** The stylesheet's address changes with its content, so browsers may cache it for ever. */
  asset(exchange: Exchange, name: string): void {
    const isFound = name === STYLE.name;
    const keep = isFound ? 'private, max-age=31536000, immutable' : 'no-store';
    exchange.adapter.setHeader(exchange.response, 'Cache-Control', keep);
    const type = isFound ? 'text/css; charset=utf-8' : 'text/plain; charset=utf-8';
    send(exchange, isFound ? 200 : 404, type, isFound ? STYLE.text : 'File not found.');
  }

  private async answer(
    request: ConsoleRequest,
    anonymousContext: PageContext,
    make: (context: PageContext) => Promise<Page | Redirect>,
  ): Promise<[PageContext, Page | Redirect]> {
    try {
      const context = { ...anonymousContext, operator: this.options.operator(request), ...this.viewOf(request) };
      return [context, await make(context).catch((error: unknown) => this.refusal(error))];
    } catch (error) {
      return [anonymousContext, this.refusal(error)];
    }
  }

  private viewOf(request: ConsoleRequest): Pick<PageContext, 'scope' | 'operations' | 'reviews' | 'records'> {
    const shop = this.options.shop(request);
    const { operations, reviews, records } = this;
    if (shop === null) return { scope: null, operations, reviews, records };
    try {
      if (typeof shop === 'string') {
        return {
          scope: shop,
          operations: operations.forShop(shop),
          reviews: reviews.forShop(shop),
          records: records.forShop(shop),
        };
      }
    } catch (error) {
      if (!(error instanceof PaymentUnknownShopError)) throw error;
    }
    throw new ConsoleRefusal(
      403,
      'No access',
      'You do not have access to any shop in this console. Ask whoever grants access to it.',
    );
  }

  private refusal(error: unknown): Page {
    if (error instanceof ConsoleRefusal) {
      const { status, title, message } = error;
      return { status, title, content: html`<p class="card">${message}</p>` };
    }
    this.logger.error(`A page of the console could not be shown. ${describePaymentError(error)}`);
    const text = 'The records could not be read. See the application log for the reason.';
    return { status: 503, title: 'Temporarily unavailable', content: html`<p class="card">${text}</p>` };
  }
}

/** A scope that sees nothing: no shop has this name. */
const NO_SHOP = '';

function send({ adapter, response }: Exchange, status: number, type: string, body: string): void {
  adapter.setHeader(response, 'Content-Security-Policy', CONTENT_SECURITY_POLICY);
  adapter.setHeader(response, 'Referrer-Policy', 'same-origin');
  adapter.setHeader(response, 'X-Content-Type-Options', 'nosniff');
  adapter.setHeader(response, 'X-Frame-Options', 'DENY');
  adapter.setHeader(response, 'Cross-Origin-Opener-Policy', 'same-origin');
  adapter.setHeader(response, 'Cross-Origin-Resource-Policy', 'same-origin');
  adapter.setHeader(response, 'Content-Type', type);
  adapter.reply(response, body, status);
}
