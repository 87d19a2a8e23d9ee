import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { HttpService } from '@nestjs/axios';
import { PaymentClock } from '../common/clock.js';
import type { DecimalAmount } from '../common/money.js';
import type { ReportedPayment } from '../common/payment.js';
import { PaymentProbe } from '../common/probe.js';
import { PaymentRandom } from '../common/random.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import {
  AnswerFlaw,
  isSuccess,
  parseAnswer,
  readCreatedBill,
  readMessage,
  readPayments,
  type CreatedBill,
} from './answers.js';
import { retryAfterMs, retrying } from './retrying.js';
import { ServiceContacts } from './service-contacts.js';
import {
  AnswerNotUnderstoodError,
  BillNotFoundError,
  MerchantBannedError,
  MerchantNotFoundError,
  RequestAbortedError,
  RequestRefusedError,
  ServiceNetworkError,
  ServiceUnavailableError,
  TooManyPaymentsError,
  UnauthenticatedError,
  type PaymentServiceError,
  type ServiceErrorDetails,
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
  /** Tries in all; the option `http.attempts` where absent. */
  readonly attempts?: number;
}

type Fields = Readonly<Record<string, unknown>>;

/** The service's HTTP API (section 4). Knows nothing of storage or of Nest's server. */
@Injectable()
export class PaymentServiceClient implements OnApplicationShutdown {
  /** What became of the requests of this process. */
  readonly contacts = new ServiceContacts();
  private readonly transport: Transport;

  constructor(
    http: HttpService,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    private readonly clock: PaymentClock,
    private readonly random: PaymentRandom,
    private readonly probe: PaymentProbe,
  ) {
    this.transport = new Transport(http.axiosRef, options.http);
  }

  onApplicationShutdown(): void {
    this.transport.close();
  }

  /**
   * `POST {base_url}/api/v1/bill/create` (section 4.1). Repeated only while the request provably never left.
   * @throws PaymentServiceError
   */
  async createBill(shop: Shop, fields: BillFields, control: RequestControl = {}): Promise<CreatedBill> {
    const answer = await this.exchange(
      shop,
      'createBill',
      (token) => ({
        method: 'POST',
        url: `${shop.apiBaseUrl}/api/v1/bill/create`,
        token,
        form: billForm(shop, fields),
      }),
      control,
      (error) => error instanceof ServiceNetworkError && !error.mayHaveLeft && { afterMs: 0 },
    );
    return this.understand(shop, 'createBill', answer, readCreatedBill);
  }

  /**
   * `GET {base_url}/api/v1/bill/payments?id=` (section 4.2). Repeated after network errors, 408, 425, 429 and 5xx.
   * @throws PaymentServiceError
   */
  async listPayments(shop: Shop, billId: string, control: RequestControl = {}): Promise<ReportedPayment[]> {
    const answer = await this.exchange(
      shop,
      'listPayments',
      (token) => ({
        method: 'GET',
        url: `${shop.apiBaseUrl}/api/v1/bill/payments?id=${encodeURIComponent(billId)}`,
        token,
      }),
      control,
      (error) =>
        error instanceof ServiceNetworkError
          ? { afterMs: 0 }
          : error instanceof ServiceUnavailableError && { afterMs: error.retryAfterMs ?? 0 },
    );
    return this.understand(shop, 'listPayments', answer, (fields) => readPayments(fields, shop.timeZone));
  }

  private exchange(
    shop: Shop,
    operation: ServiceOperation,
    request: (token: string) => TransportRequest,
    control: RequestControl,
    mayRetry: (error: unknown) => false | { afterMs: number },
  ): Promise<TransportAnswer> {
    const { attempts, retryBaseMs: baseMs, retryCapMs: capMs } = this.options.http;
    const policy = {
      attempts: control.attempts ?? attempts,
      baseMs,
      capMs,
      fraction: () => this.random.fraction(),
      signal: control.signal,
    };
    return retrying(
      policy,
      () =>
        this.withTokens(shop, (token) => this.attempt(shop, operation, { ...request(token), signal: control.signal })),
      mayRetry,
    );
  }

  /** A request that was refused for its token did nothing, so it is made with the shop's further ones in turn. */
  private async withTokens<T>(shop: Shop, attempt: (token: string) => Promise<T>): Promise<T> {
    try {
      return await attempt(shop.token.reveal());
    } catch (error) {
      for (const token of error instanceof UnauthenticatedError ? shop.previousTokens : []) {
        try {
          return await attempt(token.reveal());
        } catch (next) {
          if (!(next instanceof UnauthenticatedError)) throw next;
        }
      }
      throw error;
    }
  }

  private async attempt(shop: Shop, operation: ServiceOperation, request: TransportRequest): Promise<TransportAnswer> {
    const details = { shop: shop.name, operation };
    if (request.signal?.aborted) throw new RequestAbortedError(details, false);
    let answer: TransportAnswer;
    try {
      this.probe.reached(`before ${operation}`);
      answer = await this.transport.send(request);
      this.probe.reached(`after ${operation}`);
    } catch (failure) {
      if (!(failure instanceof TransportFailure)) throw failure;
      if (failure.aborted) throw new RequestAbortedError(details, failure.left);
      this.contacts.note(shop.apiBaseUrl, false, this.clock.now());
      throw new ServiceNetworkError(details, failure.reason, failure.left);
    }
    this.contacts.note(shop.apiBaseUrl, !isUnavailable(answer.status), this.clock.now());
    if (answer.status >= 200 && answer.status < 300) return answer;
    throw this.errorOf(answer, {
      ...details,
      status: answer.status,
      messageKey: readMessage(answer.text, (line) => withoutTokens(shop, line)),
    });
  }

  private understand<T>(
    shop: Shop,
    operation: ServiceOperation,
    answer: TransportAnswer,
    read: (fields: Fields) => T,
  ): T {
    const details = { shop: shop.name, operation, status: answer.status };
    const fields = parseAnswer(answer.text);
    if (!fields) throw new AnswerNotUnderstoodError(details, 'it is not a JSON object');
    if (!isSuccess(fields)) {
      const messageKey = readMessage(answer.text, (line) => withoutTokens(shop, line));
      // A refusal that still names a bill is not a refusal that can be relied on.
      if (isRefusal(fields) && fields.bill_id === undefined) throw new RequestRefusedError({ ...details, messageKey });
      throw new AnswerNotUnderstoodError({ ...details, messageKey }, 'it does not say success');
    }
    try {
      return read(fields);
    } catch (flaw) {
      if (flaw instanceof AnswerFlaw) throw new AnswerNotUnderstoodError(details, flaw.message);
      throw flaw;
    }
  }

  private errorOf(answer: TransportAnswer, details: ServiceErrorDetails): PaymentServiceError {
    const { status } = answer;
    const says = (key: string): boolean => details.messageKey?.includes(key) ?? false;
    if (status === 401) return new UnauthenticatedError(details);
    if (status === 400 && says('too_many_payments')) return new TooManyPaymentsError(details);
    if (status === 403 && says('merchant_not_found')) return new MerchantNotFoundError(details);
    if (status === 403 && says('merchant_banned')) return new MerchantBannedError(details);
    if (status === 403 && says('bill_not_found')) return new BillNotFoundError(details);
    if (isUnavailable(status)) {
      return new ServiceUnavailableError(details, retryAfterMs(answer.retryAfter, this.clock.now()));
    }
    if (status >= 400 && parseAnswer(answer.text)?.bill_id === undefined) return new RequestRefusedError(details);
    return new AnswerNotUnderstoodError(details, status < 400 ? 'redirects are not followed' : 'it names a bill');
  }
}

/** The service could not answer now (assumed). */
function isUnavailable(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || status === 429;
}

function isRefusal(fields: Fields): boolean {
  return fields.success === false || (typeof fields.success === 'string' && /^(false|0)$/i.test(fields.success));
}

/** A service that repeats the token in its message does not get it into our errors. */
function withoutTokens(shop: Shop, message: string): string {
  return [shop.token, ...shop.previousTokens].reduce(
    (text, token) => text.replaceAll(token.reveal(), '[secret]'),
    message,
  );
}

function billForm(shop: Shop, fields: BillFields): FormData {
  const form = new FormData();
  form.set('amount', fields.amount);
  form.set('order_id', fields.orderId);
  if (fields.description !== undefined) form.set('description', fields.description);
  form.set('type', fields.type);
  form.set('shop_id', shop.shopId);
  form.set('currency_in', fields.currency);
  form.set('custom', fields.custom);
  if (fields.payerPaysCommission) form.set('payer_pays_commission', '1');
  if (fields.name !== undefined) form.set('name', fields.name);
  return form;
}
