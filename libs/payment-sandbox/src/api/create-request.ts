import { formatMinor, parseMinor } from '../common/decimal.js';
import { CURRENCIES, type Amount, type Currency } from '../model/entities.js';
import { LARGEST_MINOR } from '../payments/amounts.js';
import { ApiRefusal } from './answers.js';
import type { Parameters } from './parameters.js';

/** The fields of 2.1 as the sandbox takes them. */
export interface CreateRequest {
  amount: Amount;
  orderId: string;
  description: string;
  type: string;
  name: string;
  currency: Currency;
  custom: string | null;
  payerPaysCommission: boolean;
}

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ['', false],
  ['0', false],
  ['false', false],
  ['1', true],
  ['true', true],
]);

/**
 * Reads a bill out of the parameters. Which of them are required, and their bounds, is not shown: assumed is that only
 * what cannot be served is refused. A bill needs an amount of at least 0.01 within decimal(10,2); an absent currency
 * is RUB; unknown fields are ignored.
 */
export function readCreateRequest(parameters: Parameters): CreateRequest {
  return {
    amount: readAmount(parameters.get('amount') ?? ''),
    orderId: parameters.get('order_id') ?? '',
    description: parameters.get('description') ?? '',
    type: parameters.get('type') ?? 'normal',
    name: parameters.get('name') ?? '',
    currency: readCurrency(parameters.get('currency_in') || 'RUB'),
    custom: parameters.get('custom') ?? null,
    payerPaysCommission: readFlag(parameters.get('payer_pays_commission') ?? ''),
  };
}

function readAmount(text: string): Amount {
  if (text.trim() === '') throw ApiRefusal.invalid('amount', 'The amount field is required.');
  const minor = parseMinor(text);
  if (minor === undefined) {
    throw ApiRefusal.invalid('amount', 'The amount must be a number with at most two decimals.');
  }
  if (minor < 1n || minor > LARGEST_MINOR) {
    throw ApiRefusal.invalid('amount', 'The amount must be from 0.01 to 99999999.99.');
  }
  return formatMinor(minor);
}

function readCurrency(text: string): Currency {
  const currency = CURRENCIES.find((candidate) => candidate === text);
  if (!currency) throw ApiRefusal.invalid('currency_in', `The currency_in must be one of ${CURRENCIES.join(', ')}.`);
  return currency;
}

function readFlag(text: string): boolean {
  const flag = FLAGS.get(text.trim().toLowerCase());
  if (flag === undefined) {
    throw ApiRefusal.invalid('payer_pays_commission', 'The payer_pays_commission must be 1, 0, true or false.');
  }
  return flag;
}
