import type { PaymentOperations, PaymentRecords, PaymentReviews } from 'nestjs-payment-acceptance/operations';
import type { Html } from './html.js';
import type { CsrfTokens } from './csrf-tokens.js';

/** One request of an operator: who it is, what they may see, and how to build links from here. */
export interface PageContext {
  /** `undefined` for an operator without a name, who can view but not act. */
  readonly operator: string | undefined;
  /** The only visible shop; `null` for all. */
  readonly scope: string | null;
  readonly operations: PaymentOperations;
  readonly reviews: PaymentReviews;
  readonly records: PaymentRecords;
  readonly query: URLSearchParams;
  readonly link: Link;
  readonly csrf: CsrfTokens;
  /** Whether the browser says that the request comes from another site or origin. */
  readonly foreign: boolean;
}

/**
 * The relative address of a console page, which keeps a host's prefix, version or proxy path. Leaves out `undefined`
 * query parameters.
 */
export type Link = (to: string, query?: Readonly<Record<string, string | undefined>>) => string;

export interface Page {
  readonly status?: number;
  readonly title: string;
  readonly place?: string;
  /** Beside the title. */
  readonly tag?: Html;
  /** Under the title. */
  readonly lead?: string | Html;
  readonly message?: Message | undefined;
  readonly content: Html;
}

export interface Message {
  readonly tone: Tone;
  readonly text: string | Html;
}

export type Tone = 'good' | 'warn' | 'bad';

export interface Redirect {
  readonly to: string;
  readonly query: Readonly<Record<string, string | undefined>>;
}

/** The answer to a refused request is a page that explains why. */
export class ConsoleRefusal extends Error {
  constructor(
    readonly status: 403 | 404 | 409 | 415 | 503,
    readonly title: string,
    message: string,
    readonly place?: string,
  ) {
    super(message);
  }
}

export function notFoundRefusal(what: string): ConsoleRefusal {
  return new ConsoleRefusal(404, 'Not found', `There is no such ${what}.`);
}

/** @throws ConsoleRefusal if the value is `undefined` */
export function requireFound<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw notFoundRefusal(what);
  return value;
}
