import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { HttpService } from '@nestjs/axios';
import { PaymentClock } from '../common/clock.js';
import { PaymentProbe } from '../common/probe.js';
import { PaymentRandom } from '../common/random.js';
import { retry } from '../common/retry.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import { ShopRegistry, type Credential } from '../config/shop-registry.js';
import type { DecimalAmount } from '../domain/money.js';
import type { PaymentList, ReportedPayment } from '../domain/payment.js';
import { listOf, nextPage, readCreatedBill, readPaymentList, readPayments, type CreatedBill } from './answers.js';
import { errorOf, readAnswer, type Fields } from './service-answer.js';
import { PaymentMetrics } from '../telemetry/payment-metrics.js';
import { ServiceContacts } from './service-contacts.js';
import {
  PaymentAnswerNotUnderstoodError,
  PaymentServiceError,
  PaymentRequestAbortedError,
  PaymentServiceNetworkError,
  PaymentServiceUnavailableError,
  PaymentTooManyPaymentsError,
  PaymentUnauthenticatedError,
  type ServiceOperation,
} from './service.errors.js';
import { Transport, TransportFailure, type TransportAnswer, type TransportRequest } from './transport.js';

/** The fields of bill creation, all of section 2.1. */
export interface BillFields {
  readonly amount: DecimalAmount;
  readonly orderId: string;
  readonly description?: string;
  readonly type: string;
  readonly currency: string;
  readonly custom: string;
  readonly payerPaysCommission: boolean;
  readonly name?: string;
}

export interface RequestControl {
  readonly signal?: AbortSignal;
  /** Total number of attempts. Default: the option `http.attempts`. */
  readonly attempts?: number;
}

export interface CreationControl extends RequestControl {
  /** No attempt begins once the clock's `elapsed()` is above this. Default: no limit. */
  readonly beginBefore?: number;
}

/** The request is built for each attempt, since a token rotation may change the shop in between. */
interface Exchange<T> {
  readonly operation: ServiceOperation;
  readonly request: (shop: Shop) => Pick<TransportRequest, 'method' | 'url'> & { fields?: Record<string, string> };
  readonly read: (fields: Fields, shop: Shop) => T;
  readonly mayRetry: (error: unknown) => false | { afterMs: number };
}

type ReadList = (fields: Fields, timeZone: string) => PaymentList;

/** `next` is the result of `nextPage`. */
interface ListPage extends PaymentList {
  readonly next: string | null | undefined;
}

/** Each page is a request. */
const MAX_PAGES = 20;

/** Reading a longer list of payments would hold up everything else. */
const MAX_LISTED = 5_000;

/** The service's HTTP API (section 4). Knows nothing of storage or of Nest's server. */
@Injectable()
export class PaymentServiceClient implements OnApplicationShutdown {
  readonly contacts = new ServiceContacts();
  private readonly transport = new Transport(this.http.axiosRef, this.options.http, () => this.clock.elapsed());

  constructor(
    private readonly http: HttpService,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    private readonly clock: PaymentClock,
    private readonly random: PaymentRandom,
    private readonly probe: PaymentProbe,
    private readonly shops: ShopRegistry,
    private readonly metrics: PaymentMetrics,
  ) {}

  onApplicationShutdown(): void {
    this.transport.close();
  }

  /**
   * `POST {base_url}/api/v1/bill/create` (section 4.1). Retried only if the request provably never left.
   * @throws PaymentServiceError
   */
  createBill(shop: Shop, fields: BillFields, control: CreationControl = {}): Promise<CreatedBill> {
    return this.exchange(shop, control, {
      operation: 'createBill',
      request: (asShop) => ({
        method: 'POST',
        url: `${asShop.apiBaseUrl}/api/v1/bill/create`,
        fields: billFields(asShop, fields),
      }),
      read: readCreatedBill,
      mayRetry: (error) =>
        error instanceof PaymentServiceNetworkError &&
        !error.mayHaveLeft &&
        this.clock.elapsed() <= (control.beginBefore ?? Infinity) && { afterMs: 0 },
    });
  }

  /**
   * `GET {base_url}/api/v1/bill/payments?id=` (section 4.2). Retried after network errors, 408, 425, 429 and 5xx.
   * @throws PaymentServiceError
   */
  async listPayments(shop: Shop, billId: string, control: RequestControl = {}): Promise<ReportedPayment[]> {
    const read = (fields: Fields, timeZone: string) => ({ payments: readPayments(fields, timeZone), problems: [] });
    return [...(await this.list(shop, billId, control, read)).payments];
  }

  /**
   * Like {@link listPayments}, but returns the readable payments and the problems of the others, for a check.
   * @param beginWithinMs how long after the start a further page may be requested. Default: a third of a check's lease
   */
  readPaymentList(
    shop: Shop,
    billId: string,
    control: RequestControl = {},
    beginWithinMs = this.options.leases.checkMs / 3,
  ): Promise<PaymentList> {
    return this.list(shop, billId, control, readPaymentList, beginWithinMs);
  }

  /** Reads the list page by page, if it has several pages (assumed). */
  private async list(
    shop: Shop,
    billId: string,
    control: RequestControl,
    read: ReadList,
    beginWithinMs = Infinity,
  ): Promise<PaymentList> {
    const details = { shop: shop.name, operation: 'listPayments' } as const;
    const tooMany = (what: string) => new PaymentTooManyPaymentsError(details, what);
    const lastBegin = this.clock.elapsed() + beginWithinMs;
    const pages: PaymentList[] = [];
    const queries = new Set<string>();
    for (let query: string | undefined = ''; query !== undefined;) {
      queries.add(query);
      const page: ListPage = await this.page(shop, billId, query, control, read);
      pages.push(page);
      if (page.next === null || (page.next !== undefined && queries.has(page.next))) {
        throw tooMany('the list continues, but has no link to its next page');
      }
      if (queries.size === MAX_PAGES && page.next !== undefined) {
        throw tooMany(`the list has more than ${MAX_PAGES} pages`);
      }
      if (pages.reduce((sum, { payments }) => sum + payments.length, 0) > MAX_LISTED) {
        throw tooMany(`the list has more than ${MAX_LISTED} payments`);
      }
      query = page.next;
      if (query !== undefined && this.clock.elapsed() >= lastBegin) {
        const problem = `the list continues after page ${pages.length}, but the time for one check is up. Raise http.totalTimeoutMs`;
        throw new PaymentAnswerNotUnderstoodError(details, problem);
      }
    }
    return {
      payments: dropRepeatedPages(pages.map(({ payments }) => payments)),
      problems: pages.flatMap(({ problems }) => problems),
    };
  }

  private page(shop: Shop, billId: string, query: string, control: RequestControl, read: ReadList): Promise<ListPage> {
    const address = (asShop: Shop): URL => {
      const url = new URL(`${asShop.apiBaseUrl}/api/v1/bill/payments?id=${encodeURIComponent(billId)}`);
      for (const [name, value] of new URLSearchParams(query)) url.searchParams.append(name, value);
      return url;
    };
    return this.exchange(shop, control, {
      operation: 'listPayments',
      request: (asShop) => ({ method: 'GET', url: address(asShop).href }),
      read: (fields, asShop) => {
        const list = listOf(fields.data);
        if (Array.isArray(list) && list.length > MAX_LISTED) {
          const details = { shop: asShop.name, operation: 'listPayments' } as const;
          throw new PaymentTooManyPaymentsError(details, `the list has more than ${MAX_LISTED} payments`);
        }
        return { ...read(fields, asShop.timeZone), next: nextPage(fields, address(asShop)) };
      },
      mayRetry: (error) =>
        error instanceof PaymentServiceNetworkError
          ? { afterMs: 0 }
          : error instanceof PaymentServiceUnavailableError && { afterMs: error.retryAfterMs ?? 0 },
    });
  }

  private exchange<T>(shop: Shop, control: CreationControl, exchange: Exchange<T>): Promise<T> {
    const { attempts, retryBaseMs: baseMs, retryCapMs: capMs } = this.options.http;
    const policy = {
      attempts: control.attempts ?? attempts,
      baseMs,
      capMs,
      fraction: () => this.random.fraction(),
      signal: control.signal,
    };
    return retry(policy, () => this.withTokens(shop, exchange, control), exchange.mayRetry);
  }

  /** A request refused for its token had no effect, so it is repeated with the shop's other tokens in turn. */
  private async withTokens<T>(shop: Shop, exchange: Exchange<T>, control: CreationControl): Promise<T> {
    let refusal: PaymentUnauthenticatedError | undefined;
    for await (const credential of this.shops.credentials(shop)) {
      try {
        return await this.attempt(credential, exchange, control);
      } catch (error) {
        if (!(error instanceof PaymentUnauthenticatedError)) throw error;
        refusal ??= error;
      }
    }
    throw refusal ?? new Error(`Shop "${shop.name}" has no token.`);
  }

  private async attempt<T>(
    { shop, token }: Credential,
    exchange: Exchange<T>,
    { signal, beginBefore = Infinity }: CreationControl,
  ): Promise<T> {
    const { operation } = exchange;
    const details = { shop: shop.name, operation };
    if (signal?.aborted) throw new PaymentRequestAbortedError(details, false);
    if (this.clock.elapsed() > beginBefore)
      throw new PaymentServiceNetworkError(details, 'the process was suspended', false);
    const request = exchange.request(shop);
    const begun = performance.now();
    const measure = (outcome: string): void =>
      this.metrics.request(shop.name, operation, outcome, performance.now() - begun);
    try {
      const answer = await this.send(shop, operation, { ...request, token: token.reveal(), signal });
      const result = readAnswer(shop, operation, answer, (read) => exchange.read(read, shop));
      measure('ok');
      this.contacts.note(shop.apiBaseUrl, true, this.clock.now());
      return result;
    } catch (error) {
      measure(error instanceof PaymentServiceError ? error.code : 'unexpected');
      if (error instanceof PaymentServiceError && !(error instanceof PaymentRequestAbortedError))
        this.contacts.note(shop.apiBaseUrl, !UNANSWERED.some((kind) => error instanceof kind), this.clock.now());
      throw error;
    }
  }

  private async send(shop: Shop, operation: ServiceOperation, request: TransportRequest): Promise<TransportAnswer> {
    const details = { shop: shop.name, operation };
    let answer: TransportAnswer;
    try {
      this.probe.reached(`before ${operation}`);
      answer = await this.transport.send(request);
      this.probe.reached(`after ${operation}`);
    } catch (failure) {
      if (!(failure instanceof TransportFailure)) throw failure;
      if (failure.aborted) throw new PaymentRequestAbortedError(details, failure.mayHaveLeft);
      throw new PaymentServiceNetworkError(details, failure.reason, failure.mayHaveLeft);
    }
    const isSuccess = answer.status >= 200 && answer.status < 300;
    if (answer.isCut) {
      // A page from a proxy in front of the service is not a list, whatever its content type says.
      const isList = operation === 'listPayments' && isSuccess && /^\uFEFF?\s*\{/.test(answer.text);
      if (isList)
        throw new PaymentTooManyPaymentsError(details, 'the list of payments is larger than http.maxAnswerBytes');
      throw new PaymentServiceNetworkError(details, 'the answer is larger than http.maxAnswerBytes', true);
    }
    if (isSuccess) return answer;
    throw errorOf(shop, operation, answer, this.clock.now());
  }
}

/** Errors without a usable answer: a service whose answers have changed is as useless as an unreachable one. */
const UNANSWERED = [PaymentServiceNetworkError, PaymentServiceUnavailableError, PaymentAnswerNotUnderstoodError];

/** A payment that arrives while a list is read moves the last payment of each page to the next page. */
function dropRepeatedPages(pages: readonly (readonly ReportedPayment[])[]): readonly ReportedPayment[] {
  if (pages[0] && pages.length === 1) return pages[0];
  const earlier = new Set<string>();
  return pages.flatMap((page) => {
    const texts = page.map((payment) => JSON.stringify(payment));
    const fresh = page.filter((_payment, index) => !earlier.has(texts[index] ?? ''));
    for (const text of texts) earlier.add(text);
    return fresh;
  });
}

/** The fields of section 2.1, in its order. */
function billFields(shop: Shop, fields: BillFields): Record<string, string> {
  return {
    amount: fields.amount,
    order_id: fields.orderId,
    ...(fields.description !== undefined && { description: fields.description }),
    type: fields.type,
    shop_id: shop.shopId,
    currency_in: fields.currency,
    custom: fields.custom,
    ...(fields.payerPaysCommission && { payer_pays_commission: '1' }),
    ...(fields.name !== undefined && { name: fields.name }),
  };
}
