import type { OperationsView, RecordsView, ReviewsView } from 'nestjs-payment-acceptance/operations';
import type { Html } from './html.js';
import type { CsrfTokens } from './csrf-tokens.js';

/** One request of an operator: who it is, what of all there is to see, and how addresses are written from there. */
export interface PageContext {
  /** `undefined` for somebody without a name, who can only look. */
  readonly operator: string | undefined;
  /** The only shop to be seen; `null` for all. */
  readonly scope: string | null;
  readonly operations: OperationsView;
  readonly reviews: ReviewsView;
  readonly records: RecordsView;
  readonly query: URLSearchParams;
  readonly link: Link;
  readonly csrf: CsrfTokens;
  /** The browser says that the request comes from a page of another site, or of another origin. */
  readonly foreign: boolean;
}

/**
 * The address of a page of the console, relative, so that a host's prefix, version or proxy stays in it. What is
 * `undefined` of the query is left out.
 */
export type Link = (to: string, query?: Readonly<Record<string, string | undefined>>) => string;

export interface Page {
  readonly status?: number;
  readonly title: string;
  /** The part of the console that it belongs to. */
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

/** Where to go after an action was performed. */
export interface Redirect {
  readonly to: string;
  readonly query: Readonly<Record<string, string | undefined>>;
}

/** What was asked for is not there, or cannot be done: said on a page of its own. */
export class ConsoleRefusal extends Error {
  constructor(
    readonly status: 400 | 403 | 404 | 409 | 503,
    readonly title: string,
    message: string,
  ) {
    super(message);
  }
}

export function notHere(what: string): ConsoleRefusal {
  return new ConsoleRefusal(404, 'Not found', `There is no such ${what}.`);
}
