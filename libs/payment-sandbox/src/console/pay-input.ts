import type { Redirect } from '../callbacks/redirect.js';
import { formatMinor, parseAmount } from '../common/decimal.js';
import { SandboxError } from '../common/errors.js';
import { fieldOf, type Fields } from '../common/input.js';
import type { Bill, Callback, Currency, Payment, ShopSettings } from '../model/entities.js';
import { MAX_MINOR } from '../payments/amounts.js';
import { cardDigits } from '../payments/test-cards.js';

/** A bill with its payments, oldest first, and all its postbacks with their attempts and answers. */
export interface BillView extends Bill {
  /** Whether a payment succeeded. */
  paid: boolean;
  payments: Payment[];
  callbacks: Callback[];
}

/** How to pay. What is left out follows from the card and the bill. */
export interface PayInput {
  /** A card number, with or without spaces. Default `4111 1111 1111 1111`, which succeeds. */
  card?: string;
  /** The result, whatever the card would do. */
  outcome?: 'success' | 'fail';
  /** What the payer pays in total, as exact text. Default: what is due. */
  amount?: string;
  /** Default: the bill's. */
  currency?: Currency;
}

export interface PayResult {
  payment: Payment;
  /** Where the payer's browser goes next; null while there is no result, or if no address is set for that result. */
  redirect: Redirect | null;
}

export interface ReplayInput {
  /** Fields to change before sending. */
  set?: Record<string, string>;
  /** Sign the fields anew by section 5, as only the service could. Default false. */
  resign?: boolean;
  /** Default: the shop's `postbackFormat`. */
  format?: ShopSettings['postbackFormat'];
}

const DEFAULT_CARD = '4111 1111 1111 1111';

export function readCard(fields: Fields): string {
  const card = fields['card'] ?? DEFAULT_CARD;
  const digits = typeof card === 'string' ? cardDigits(card) : undefined;
  if (!digits) throw new SandboxError(400, 'card must be a valid card number, as text');
  return digits;
}

export function readAmount(fields: Fields): string | undefined {
  const amount = fieldOf(fields, 'amount');
  if (amount === undefined) return undefined;
  const minor = typeof amount === 'string' || typeof amount === 'number' ? parseAmount(String(amount)) : undefined;
  if (minor === undefined || minor < 1n || minor > MAX_MINOR) {
    throw new SandboxError(400, 'amount must be from 0.01 to 99999999.99 with at most two decimals, such as "100.05"');
  }
  return formatMinor(minor);
}
