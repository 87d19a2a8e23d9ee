import { Injectable } from '@nestjs/common';
import { formatMinor } from '../common/decimal.js';
import { equalSecrets, randomId } from '../common/ids.js';
import type { Bill, Payment, Shop } from '../model/entities.js';
import { amountDue, MAX_MINOR } from '../payments/amounts.js';
import { SandboxClock } from '../storage/sandbox-clock.js';
import { SandboxStore } from '../storage/store.js';
import { ApiRefusal } from './answers.js';
import { readCreateRequest } from './create-request.js';
import type { Parameters } from './parameters.js';
import { quote, whyAnotherShop, whyMissing, whyUnauthenticated } from './reasons.js';

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
    throw ApiRefusal.unauthenticated(whyUnauthenticated(authorization, parameters, namedShop));
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
      throw ApiRefusal.billNotFound(`${why}; the bearer token belongs to ${shop.id}`);
    }
    const payments = this.store.paymentsOf(id);
    if (payments.length > shop.maxPayments) {
      const why = `the bill has ${payments.length} payments, and maxPayments of the shop is ${shop.maxPayments}`;
      throw ApiRefusal.tooManyPayments(why);
    }
    return payments;
  }

  private admit(shop: Shop, parameters: Parameters): void {
    const shopId = parameters.get('shop_id');
    if (shopId && shopId !== shop.id) {
      throw ApiRefusal.merchantNotFound(whyAnotherShop(shop, shopId, this.store.shops.has(shopId)));
    }
    if (shop.banned) throw ApiRefusal.merchantBanned(`the setting "banned" of the shop ${shop.id} is on`);
  }
}
