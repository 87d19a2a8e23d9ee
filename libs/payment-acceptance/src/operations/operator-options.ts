import { cleanLine } from '../common/text.js';
import { PaymentOperatorActionError } from './operator.errors.js';

/** Who acts, and why: recorded with the action. */
export interface PaymentOperatorOptions {
  /** Name of the person or program. */
  readonly operator: string;
  /** The reason. Default: none. */
  readonly note?: string;
}

/**
 * The name as it is recorded.
 * @throws PaymentOperatorActionError if it has no visible character
 */
export function operatorName(operator: string): string {
  const name = cleanLine(operator);
  if (!/[^\p{C}\p{Z}]/u.test(name)) throw new PaymentOperatorActionError('Specify in "operator" who is doing this.');
  return name;
}
