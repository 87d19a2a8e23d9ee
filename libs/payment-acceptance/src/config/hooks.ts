import type { DecimalAmount } from '../domain/money.js';

/*
 * What the options take from the host to call: functions, with what these are given and give.
 */

/** One request to the service as the hooks see it: without any token, and with card numbers masked. */
export interface ServiceRequestInfo {
  /** The same before and after one request; each try has its own. */
  readonly id: string;
  readonly shop: string;
  readonly operation: 'createBill' | 'listPayments';
  readonly method: 'GET' | 'POST';
  /** Address and query. Neither ever holds a secret. */
  readonly url: string;
  /** The form's fields (section 2.1 of the specification); none for `listPayments`. */
  readonly fields: Readonly<Record<string, string>>;
  readonly startedAt: Date;
}

/** How the request ended. */
export interface ServiceResponseInfo extends ServiceRequestInfo {
  /** HTTP status of the answer; absent where none came. */
  readonly status?: number;
  readonly durationMs: number;
  /** Absent where the answer was understood and says success. */
  readonly error?: {
    /** `code` of the error that the caller gets, for example `network` or `unauthenticated`. */
    readonly code: string;
    /** The service's message, for example `api:error.bill_not_found`; absent where none could be read. */
    readonly messageKey?: string;
  };
}

/**
 * Called around each request to the service, for audit and metrics. They are not waited for, and cannot change the
 * request; what they throw or reject with is logged and goes no further.
 */
export interface ServiceHttpHooks {
  beforeRequest?(info: ServiceRequestInfo): unknown;
  afterResponse?(info: ServiceResponseInfo): unknown;
}

/** A postback whose `TrsId` is no bill of ours, as it came. */
export interface ForwardedPostback {
  /** Name of the shop whose route it came to. */
  readonly shop: string;
  /** `TrsId`: the service's bill id. */
  readonly billId: string;
  /** `InvId`: the order it names. */
  readonly orderId: string;
  /** Every field as the host's body parser read it, unknown ones and `SignatureValue` included. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The transmitted bytes, where the application was created with `rawBody: true`: digests are computed over these. */
  readonly rawBody?: Buffer;
  /** `Content-Type` of the postback. */
  readonly contentType?: string;
  /** Whether `SignatureValue` is what the redirect's formula gives for one of the shop's tokens. */
  readonly digest: 'match' | 'mismatch' | 'absent';
}

/**
 * Hands a postback to an older integration. The promise says what became of it: `true`, it was accepted there for good;
 * `false`, it is not that integration's either. A rejection means that nobody knows: the sender is answered 503 and
 * sends it again, so what it does must be safe to repeat. The signal aborts at the time limit.
 */
export type ForwardPostback = (postback: ForwardedPostback, signal: AbortSignal) => Promise<boolean>;

/** What the payer is told after the redirect: stored state, never what the redirect says. */
export interface PaymentResult {
  readonly shop: string;
  /** The `InvId` of the redirect: the shop's order id. */
  readonly orderId: string;
  /** `pending` until the service's own list of payments has been read and says otherwise. */
  readonly result: 'paid' | 'failed' | 'pending';
  readonly amount: DecimalAmount;
  readonly currency: string;
}

/** Gives the whole HTML page, or sends the payer to an address of the host (303). */
export type PaymentResultRenderer = (
  result: PaymentResult,
) => string | { redirectTo: string } | Promise<string | { redirectTo: string }>;

/** What of `@nestjs/swagger` describes the callback routes; pass the module itself. */
export interface OpenApiDecorators {
  ApiTags(...tags: string[]): ClassDecorator & MethodDecorator;
  ApiOperation(options: object): MethodDecorator;
  ApiConsumes(...types: string[]): MethodDecorator & ClassDecorator;
  ApiBody(options: object): MethodDecorator;
  ApiParam(options: { name: string; description?: string; type?: StringConstructor }): MethodDecorator & ClassDecorator;
  ApiResponse(options: object): MethodDecorator & ClassDecorator;
  ApiProperty(options?: object): PropertyDecorator;
}
