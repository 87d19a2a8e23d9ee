import type { Html } from '../common/html.js';
import type { Message, Redirect } from '../common/page-context.js';

/** An action, and what its confirmation page shows before a person performs it. */
export interface OperatorAction {
  /** A question. */
  readonly title: string;
  /** The section of the console. */
  readonly place: string;
  /** The action's subject, and what will happen. */
  readonly content: Html;
  readonly label: string;
  readonly fields: readonly Field[];
  /** Default `false`. */
  readonly noteRequired?: boolean;
  /**
   * Returns where to go next.
   * @throws PaymentOperatorActionError, PaymentServiceError, PaymentShopError, PaymentUnknownShopError, InputError
   */
  perform(operator: string, input: Input): Promise<Redirect>;
}

/** Why an action is not possible any more. */
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

/**
 * Reads a form field as a single line; empty if it is missing. An order id is returned as it was sent, because every
 * space in it counts.
 */
export type Input = (name: string) => string;

/** A field that was filled in wrongly. */
export class InputError extends Error {}
