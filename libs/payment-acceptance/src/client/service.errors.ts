import { PaymentAcceptanceError } from '../common/errors.js';

/** The two operations of section 4 of the specification. */
export type ServiceOperation = 'createBill' | 'listPayments';

export interface ServiceErrorDetails {
  readonly shop: string;
  readonly operation: ServiceOperation;
  /** HTTP status of the answer; absent if there was none. */
  readonly status?: number;
  /** The service's message, for example `api:error.bill_not_found`; absent if none could be read. */
  readonly messageKey?: string;
}

/** A request to the payment acceptance service failed. Carries no token and no error of the HTTP library. */
export abstract class PaymentServiceError extends PaymentAcceptanceError implements ServiceErrorDetails {
  readonly shop: string;
  readonly operation: ServiceOperation;
  readonly status?: number;
  readonly messageKey?: string;
  /** What the developer or the operator can do about it. */
  readonly advice: string;
  /**
   * Whether a bill may have been created although the call failed with this error. `false` only if the service refused
   * the request or the request provably never left this machine (section 7, documented; the rest assumed).
   */
  readonly mayHaveCreatedBill: boolean = true;

  constructor(what: string, advice: string, details: ServiceErrorDetails) {
    const answer = [details.status, details.messageKey].filter((part) => part !== undefined).join(' ');
    super(`${details.operation} of shop "${details.shop}": ${what}${answer && ` (${answer})`}. ${advice}`);
    this.shop = details.shop;
    this.operation = details.operation;
    if (details.status !== undefined) this.status = details.status;
    if (details.messageKey !== undefined) this.messageKey = details.messageKey;
    this.advice = advice;
  }
}

/** 401 `Unauthenticated` (section 7, documented): the API token is invalid. */
export class PaymentUnauthenticatedError extends PaymentServiceError {
  readonly code = 'unauthenticated';
  override readonly mayHaveCreatedBill = false;
  constructor(details: ServiceErrorDetails) {
    super('the service does not accept the API token', "Check the shop's option apiToken.", details);
  }
}

/**
 * 400 `api:error.too_many_payments` (sections 7 and 8.2, documented): the bill has more payments than a list can hold;
 * or its list exceeds the option `http.maxAnswerBytes`, 5,000 payments or 20 pages, or claims to continue but does not
 * say where (assumed).
 */
export class PaymentTooManyPaymentsError extends PaymentServiceError {
  readonly code = 'too-many-payments';
  override readonly mayHaveCreatedBill = false;
  constructor(details: ServiceErrorDetails, what = 'the bill has too many payments to list') {
    super(what, 'Look up the bill at the service and decide manually.', details);
  }
}

/** 403 `api:error.merchant_not_found` (section 7, documented). */
export class PaymentMerchantNotFoundError extends PaymentServiceError {
  readonly code = 'merchant-not-found';
  override readonly mayHaveCreatedBill = false;
  constructor(details: ServiceErrorDetails) {
    super('the service does not know the merchant', "Check the shop's options shopId and apiToken.", details);
  }
}

/** 403 `api:error.merchant_banned` (section 7, documented). */
export class PaymentMerchantBannedError extends PaymentServiceError {
  readonly code = 'merchant-banned';
  override readonly mayHaveCreatedBill = false;
  constructor(details: ServiceErrorDetails) {
    super(
      'the service has blocked the merchant',
      'Ask the service why. No bill can be created until it lifts the block.',
      details,
    );
  }
}

/** 403 `api:error.bill_not_found` (section 7, documented). */
export class PaymentBillNotFoundError extends PaymentServiceError {
  readonly code = 'bill-not-found';
  override readonly mayHaveCreatedBill = false;
  constructor(details: ServiceErrorDetails) {
    const advice =
      'Check the bill id, and that the bill belongs to this shop. A sandbox without --data forgets its bills when it restarts; ' +
      'instances that use different services each need their own schema (option "schema").';
    super('the service cannot find the bill', advice, details);
  }
}

/** Any other refusal: a 4xx, or an answer whose `success` is false (assumed: section 7 lists no errors of creation). */
export class PaymentRequestRefusedError extends PaymentServiceError {
  readonly code = 'request-refused';
  override readonly mayHaveCreatedBill = false;
  constructor(
    details: ServiceErrorDetails,
    /**
     * Whether the answer says `success: false` or names an `api:error`. Any other 4xx may be that of a gateway in front
     * of the service.
     */
    readonly isFromService: boolean,
  ) {
    super(
      'the service refused the request',
      'Correct what its message names; repeating the same request will fail again.',
      details,
    );
  }
}

/** 408, 425, 429 or 5xx: the service could not answer now (assumed). */
export class PaymentServiceUnavailableError extends PaymentServiceError {
  readonly code = 'service-unavailable';
  constructor(
    details: ServiceErrorDetails,
    /** `Retry-After` of the answer, in milliseconds, if sent. */
    readonly retryAfterMs?: number,
  ) {
    super('the service cannot answer now', 'Try again later.', details);
  }
}

/** The answer is none of those that the specification shows. */
export class PaymentAnswerNotUnderstoodError extends PaymentServiceError {
  readonly code = 'answer-not-understood';
  constructor(details: ServiceErrorDetails, problem: string) {
    super(`cannot interpret the answer: ${problem}`, 'Check that apiBaseUrl is the address of the service.', details);
  }
}

/** No answer: name lookup, connection or timeout failure, or the answer broke off. */
export class PaymentServiceNetworkError extends PaymentServiceError {
  readonly code = 'network';
  override readonly mayHaveCreatedBill: boolean;
  constructor(
    details: ServiceErrorDetails,
    /** Short reason, for example `ECONNREFUSED` or `timeout`. */
    readonly reason: string,
    /**
     * `false` only if the service provably saw nothing of the request, for example because no (secure) connection was
     * established.
     */
    readonly mayHaveLeft: boolean,
  ) {
    super(
      mayHaveLeft
        ? `no answer (${reason}); the request may have reached the service`
        : `the request was not sent (${reason})`,
      mayHaveLeft || details.operation !== 'createBill'
        ? 'Check apiBaseUrl and the network.'
        : 'Call createBill again; if it fails again, check apiBaseUrl and the network.',
      details,
    );
    this.mayHaveCreatedBill = mayHaveLeft;
  }
}

/** The caller's AbortSignal ended the request. */
export class PaymentRequestAbortedError extends PaymentServiceError {
  readonly code = 'aborted';
  override readonly mayHaveCreatedBill: boolean;
  constructor(
    details: ServiceErrorDetails,
    readonly mayHaveLeft: boolean,
  ) {
    super('the caller aborted the request', 'Call again if the result is still needed.', details);
    this.mayHaveCreatedBill = mayHaveLeft;
  }
}
