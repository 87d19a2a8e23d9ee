import { Inject, Injectable, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
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

interface Exchange {
  readonly request: ConsoleRequest;
  readonly response: object;
  /** How many segments the address has below the console's own address. */
  readonly depth: number;
}

type MakeAnswer = (context: PageContext) => Promise<Page | Redirect>;

const SECURITY_HEADERS = {
  // No script runs, whatever an external field contains; the pages cannot be framed, and forms post only here.
  'Content-Security-Policy':
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** Writes responses itself, on either adapter, so that a host's interceptors and filters do not change them. */
@Injectable()
export class ConsoleResponder {
  private readonly logger = new Logger('PaymentConsole');

  constructor(
    @Inject(CONSOLE_OPTIONS) private readonly options: ResolvedConsoleOptions,
    private readonly operations: PaymentOperations,
    private readonly reviews: PaymentReviews,
    private readonly records: PaymentRecords,
    private readonly host: HttpAdapterHost,
  ) {}

  async show({ request, response, depth }: Exchange, make: MakeAnswer): Promise<void> {
    const { httpAdapter } = this.host;
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
    if (csrf.cookie !== undefined) httpAdapter.appendHeader(response, 'Set-Cookie', csrf.cookie);
    httpAdapter.setHeader(response, 'Cache-Control', 'no-store');
    if ('to' in answer) {
      httpAdapter.setHeader(response, 'Location', context.link(answer.to, answer.query));
      return this.send(response, 303, 'text/html; charset=utf-8', '');
    }
    this.send(response, answer.status ?? 200, 'text/html; charset=utf-8', layout(context, answer));
  }

  /** The stylesheet's address changes with its content, so browsers may cache it for ever. */
  asset(response: object, name: string): void {
    const isFound = name === STYLE.name;
    const keep = isFound ? 'private, max-age=31536000, immutable' : 'no-store';
    this.host.httpAdapter.setHeader(response, 'Cache-Control', keep);
    const type = isFound ? 'text/css; charset=utf-8' : 'text/plain; charset=utf-8';
    this.send(response, isFound ? 200 : 404, type, isFound ? STYLE.text : 'File not found.');
  }

  private async answer(
    request: ConsoleRequest,
    anonymousContext: PageContext,
    make: MakeAnswer,
  ): Promise<[PageContext, Page | Redirect]> {
    try {
      const context = { ...anonymousContext, operator: this.options.operator(request), ...this.viewOf(request) };
      return [context, await make(context).catch((error: unknown) => this.refusal(error))];
    } catch (error) {
      return [anonymousContext, this.refusal(error)];
    }
  }

  /** What is different for an operator who may see one shop only. */
  private viewOf(request: ConsoleRequest): Partial<PageContext> {
    const scope = this.options.shop(request);
    if (scope === null) return { scope };
    try {
      if (typeof scope === 'string') {
        return {
          scope,
          operations: this.operations.forShop(scope),
          reviews: this.reviews.forShop(scope),
          records: this.records.forShop(scope),
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
      const { status, title, message, place } = error;
      return { status, title, place, content: html`<p class="card">${message}</p>` };
    }
    this.logger.error(`A page of the console could not be shown. ${describePaymentError(error)}`);
    const text = 'The records could not be read. See the application log for the reason.';
    return { status: 503, title: 'Temporarily unavailable', content: html`<p class="card">${text}</p>` };
  }

  private send(response: object, status: number, type: string, body: string): void {
    const { httpAdapter } = this.host;
    const headers = { ...SECURITY_HEADERS, 'Content-Type': type };
    for (const [name, value] of Object.entries(headers)) httpAdapter.setHeader(response, name, value);
    httpAdapter.reply(response, body, status);
  }
}

/** A scope that sees nothing: no shop has this name. */
const NO_SHOP = '';
