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
