import { Injectable } from '@nestjs/common';
import { formatMinor, parseAmount, roundToMinor } from '../common/decimal.js';
import { equalSecrets, randomId } from '../common/ids.js';
import { isHttpAddress } from '../common/input.js';
import {
  type Amount,
  type Bill,
  type BillAddresses,
  CURRENCIES,
  type Currency,
  type Payment,
  type Shop,
} from '../model/entities.js';
import { amountDue, MAX_MINOR } from '../payments/amounts.js';
import { SandboxClock } from '../storage/sandbox-clock.js';
import { SandboxStore } from '../storage/store.js';
import { ApiRefusal } from './answers.js';
import type { Parameters } from './parameters.js';
import { quote, whyAnotherShop, whyMissing, whyNoAmount, whyUnauthenticated } from './reasons.js';

const YES = ['1', '1.0', 'true'];
const NO = ['', '0', '0.0', 'false'];

/** The fields of 2.1 as the sandbox reads them. */
type CreateRequest = Omit<Bill, 'id' | 'shopId' | 'createdAt'>;

@Injectable()
export class BillsService {
  constructor(
    private readonly store: SandboxStore,
    private readonly clock: SandboxClock,
  ) {}

  authenticate(authorization: string | undefined, parameters: Parameters): Shop {
    const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
    // Compares the token with that of every shop, so that timing reveals nothing.
    const shop =
      token && [...this.store.shops.values()].filter((candidate) => equalSecrets(candidate.apiToken, token))[0];
    if (shop) return shop;
    const namedShop = this.store.shops.get(parameters.get('shop_id') ?? '');
    throw ApiRefusal.documented('unauthenticated', whyUnauthenticated(authorization, parameters, namedShop));
  }

  /** Creates a bill (4.1). */
  create(shop: Shop, parameters: Parameters): Bill {
    this.admit(shop, parameters);
    const request = readCreateRequest(parameters, shop);
    if (amountDue(request, shop.commissionPercent) > MAX_MINOR) {
      const largest = formatMinor(MAX_MINOR);
      throw ApiRefusal.invalid('amount', `The amount with the payer's commission must not exceed ${largest}.`);
    }
    const bill: Bill = { id: randomId(), shopId: shop.id, ...request, createdAt: this.clock.instant() };
    this.store.commit({ bill });
    return bill;
  }

  /** Lists the payments of a bill (4.2). */
  payments(shop: Shop, parameters: Parameters): Payment[] {
    this.admit(shop, parameters);
    const id = parameters.get('id');
    if (!id) throw ApiRefusal.invalid('id', 'The id field is required.', whyMissing('id', parameters));
    const owner = this.store.bills.get(id)?.shopId;
    // To the client, another shop's bill looks like one that does not exist; only the console tells them apart.
    if (owner !== shop.id) {
      const why = owner === undefined ? `there is no bill ${quote(id)}` : `the bill ${id} belongs to the shop ${owner}`;
      throw ApiRefusal.documented('billNotFound', `${why}; the bearer token belongs to ${shop.id}`);
    }
    const payments = this.store.paymentsOf(id);
    if (payments.length > shop.maxPayments) {
      const why = `the bill has ${payments.length} payments, and maxPayments of the shop is ${shop.maxPayments}`;
      throw ApiRefusal.documented('tooManyPayments', why);
    }
    return payments;
  }

  private admit(shop: Shop, parameters: Parameters): void {
    const shopId = parameters.get('shop_id');
    if (shopId && shopId !== shop.id) {
      throw ApiRefusal.documented('merchantNotFound', whyAnotherShop(shop, shopId, this.store.shops.has(shopId)));
    }
    if (shop.banned) throw ApiRefusal.documented('merchantBanned', `the setting "banned" of the shop ${shop.id} is on`);
  }
}

/**
 * The specification says neither which parameters are required nor their bounds. Assumed: only what cannot be served is
 * refused; a bill needs an amount of at least 0.01 that fits decimal(10,2); a missing currency means RUB; unknown
 * fields are ignored.
 */
function readCreateRequest(parameters: Parameters, shop: Shop): CreateRequest {
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
  if (minor < 1n || minor > MAX_MINOR) throw mustBe('from 0.01 to 99999999.99', 'amount', text);
  return formatMinor(minor);
}

function readCurrency(text: string): Currency {
  const currency = CURRENCIES.find((candidate) => candidate === text);
  if (!currency) throw mustBe(`one of ${CURRENCIES.join(', ')}`, 'currency_in', text);
  return currency;
}

function readFlag(text: string): boolean {
  const word = text.trim().toLowerCase();
  if (![...YES, ...NO].includes(word)) throw mustBe('1, 0, true or false', 'payer_pays_commission', text);
  return YES.includes(word);
}

function mustBe(rule: string, field: string, text: string): ApiRefusal {
  return ApiRefusal.invalid(field, `The ${field} must be ${rule}.`, `${field} is ${quote(text)}: it must be ${rule}`);
}
