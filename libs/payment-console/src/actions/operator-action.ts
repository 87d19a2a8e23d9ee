import type { Html } from '../common/html.js';
import type { Message, Redirect } from '../common/page-context.js';

/** What a person is asked before anything happens, and what then does. */
export interface OperatorAction {
  /** The question. */
  readonly title: string;
  /** The part of the console that it belongs to. */
  readonly place: string;
  /** What it is about, and what will happen. */
  readonly content: Html;
  /** Of the button that does it. */
  readonly label: string;
  readonly fields: readonly Field[];
  /** Whether it has to be said why. Default `false`. */
  readonly noteRequired?: boolean;
  /**
   * Does it, and says where to go.
   * @throws OperatorActionError, PaymentServiceError, InputError
   */
  perform(operator: string, input: Input): Promise<Redirect>;
}

/** What can no longer be done, and why. */
export interface ImpossibleAction {
  readonly place: string;
  readonly impossible: Message['text'];
}

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly required: boolean;
  readonly inputMode?: 'decimal' | 'url';
}

/** What was filled in: one line for each field, empty where there is nothing. */
export type Input = (name: string) => string;

/** A field that was filled in wrongly. */
export class InputError extends Error {}
