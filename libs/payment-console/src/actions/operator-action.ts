import type { PaymentOperatorOptions } from 'nestjs-payment-acceptance/operations';
import type { Html } from '../common/html.js';
import { ConsoleRefusal, type Redirect } from '../common/page-context.js';

/** An action, and what its confirmation page shows before a person performs it. */
export interface OperatorAction {
  /** A question. */
  readonly title: string;
  /** The section of the console. */
  readonly place: string;
  /** The action's subject, and what will happen. */
  readonly content: Html;
  readonly label: string;
  /** What the question depends on, if it may change: a form that was shown before the change is shown again instead. */
  readonly basis?: string;
  /** Beside the note. Default: none. */
  readonly fields?: readonly Field[];
  /** Default `false`. */
  readonly noteRequired?: boolean;
  /**
   * Returns what the place is to say next.
   * @throws PaymentOperatorActionError, PaymentServiceError, PaymentShopError, PaymentUnknownShopError, InputError
   */
  perform(by: PaymentOperatorOptions, input: Input): Promise<Redirect['query']>;
}

/** Says why an action is not possible any more. */
export function impossible(place: string, reason: string): ConsoleRefusal {
  return new ConsoleRefusal(409, 'Nothing to do', reason, place);
}

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  /** Default `false`. */
  readonly required?: boolean;
  readonly inputMode?: 'decimal' | 'url';
}

/**
 * Reads a form field as a single line; empty if it is missing. An order id is returned as it was sent, because every
 * space in it counts.
 */
export type Input = (name: string) => string;

/** A field that was filled in wrongly. */
export class InputError extends Error {}

/** @throws InputError */
export function readYesOrNo(text: string): boolean | undefined {
  const answer = text.toLowerCase();
  if (['', 'yes', 'no'].includes(answer)) return answer === '' ? undefined : answer === 'yes';
  throw new InputError('To the question, enter yes or no, or leave the field empty.');
}

/**
 * Stricter than what is read from the service: `7.000` may be meant as seven thousand.
 * @throws InputError
 */
export function assertAmount(text: string): void {
  if (/^\d{1,8}(\.\d{1,2})?$/.test(text)) return;
  throw new InputError(`"${text}" is not an amount. Enter one such as 100.05, with at most two decimals.`);
}
