import { formatMinor, parseAmount, roundToMinor } from '../common/decimal.js';
import { isHttpAddress } from '../common/input.js';
import { type Amount, type BillAddresses, CURRENCIES, type Currency, type Shop } from '../model/entities.js';
import { MAX_MINOR } from '../payments/amounts.js';
import { ApiRefusal } from './answers.js';
import type { Parameters } from './parameters.js';
import { quote, whyMissing, whyNoAmount } from './reasons.js';

/** The fields of 2.1 as the sandbox reads them. */
export interface CreateRequest {
  amount: Amount;
  orderId: string;
  description: string;
  type: string;
  name: string;
  currency: Currency;
  custom: string | null;
  payerPaysCommission: boolean;
  addresses?: BillAddresses;
}

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ['', false],
  ['0', false],
  ['0.0', false],
  ['false', false],
  ['1', true],
  ['1.0', true],
  ['true', true],
]);

/**
 * The specification says neither which parameters are required nor their bounds. Assumed: only what cannot be served is
 * refused; a bill needs an amount of at least 0.01 that fits decimal(10,2); a missing currency means RUB; unknown
 * fields are ignored.
 */
export function readCreateRequest(parameters: Parameters, shop: Shop): CreateRequest {
  const addresses = shop.billAddresses ? readAddresses(parameters) : undefined;
  return {
    amount: readAmount(parameters, shop.roundAmounts ? roundToMinor : parseAmount),
    orderId: parameters.get('order_id') ?? '',
    description: parameters.get('description') ?? '',
    type: parameters.get('type') ?? 'normal',
    name: parameters.get('name') ?? '',
    currency: readCurrency(parameters.get('currency_in') || 'RUB'),
    custom: parameters.get('custom') ?? null,
    payerPaysCommission: readFlag(parameters.get('payer_pays_commission') ?? ''),
    ...(addresses && { addresses }),
  };
}

/** Reads addresses that the specification does not have; undefined if none is given. */
function readAddresses(parameters: Parameters): BillAddresses | undefined {
  const read = (field: string): string | null => {
    const text = parameters.get(field) ?? '';
    if (text === '') return null;
    if (isHttpAddress(text)) return text;
    const why = `${field} is ${quote(text)}: it must be a complete http or https address`;
    throw ApiRefusal.invalid(field, `The ${field} must be a valid URL.`, why);
  };
  const addresses = { successUrl: read('success_url'), failUrl: read('fail_url'), returnUrl: read('return_url') };
  return Object.values(addresses).some((each) => each !== null) ? addresses : undefined;
}

function readAmount(parameters: Parameters, minorOf: (text: string) => bigint | undefined): Amount {
  const text = parameters.get('amount') ?? '';
  if (text.trim() === '') {
    throw ApiRefusal.invalid('amount', 'The amount field is required.', whyMissing('amount', parameters));
  }
  const minor = minorOf(text);
  if (minor === undefined) {
    const message = 'The amount must be a number with at most two decimals.';
    throw ApiRefusal.invalid('amount', message, whyNoAmount(text));
  }
  if (minor < 1n || minor > MAX_MINOR) {
    const why = `amount is ${quote(text)}: it must be from 0.01 to 99999999.99`;
    throw ApiRefusal.invalid('amount', 'The amount must be from 0.01 to 99999999.99.', why);
  }
  return formatMinor(minor);
}

function readCurrency(text: string): Currency {
  const currency = CURRENCIES.find((candidate) => candidate === text);
  if (currency) return currency;
  const currencyList = CURRENCIES.join(', ');
  const why = `currency_in is ${quote(text)}: it must be one of ${currencyList}`;
  throw ApiRefusal.invalid('currency_in', `The currency_in must be one of ${currencyList}.`, why);
}

function readFlag(text: string): boolean {
  const flag = FLAGS.get(text.trim().toLowerCase());
  if (flag !== undefined) return flag;
  const why = `payer_pays_commission is ${quote(text)}: it must be 1, 0, true or false`;
  throw ApiRefusal.invalid('payer_pays_commission', 'The payer_pays_commission must be 1, 0, true or false.', why);
}
