import { Injectable } from '@nestjs/common';
import { formatMinor } from '../common/decimal.js';
import { equalSecrets, randomId } from '../common/ids.js';
import type { Bill, Payment, Shop } from '../model/entities.js';
import { amountDue, LARGEST_MINOR } from '../payments/amounts.js';
import { SandboxClock } from '../storage/sandbox-clock.js';
import { SandboxStore } from '../storage/store.js';
import { ApiRefusal } from './answers.js';
import { readCreateRequest } from './create-request.js';
import type { Parameters } from './parameters.js';

/** The two operations of the API, for a caller who showed a token. */
@Injectable()
export class BillsService {
  constructor(
    private readonly store: SandboxStore,
    private readonly clock: SandboxClock,
  ) {}

  /** The shop whose token the Authorization header carries. */
  authenticate(authorization: string | undefined): Shop {
    const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
    // Every shop is compared, whichever matches: the time tells nothing.
    const shop = token && [...this.store.shops.values()].filter((known) => equalSecrets(known.apiToken, token))[0];
    if (!shop) throw ApiRefusal.unauthenticated();
    return shop;
  }

  /** 4.1 */
  create(shop: Shop, parameters: Parameters): Bill {
    this.admit(shop, parameters);
    const request = readCreateRequest(parameters);
    if (amountDue(request, shop.commissionPercent) > LARGEST_MINOR) {
      const largest = formatMinor(LARGEST_MINOR);
      throw ApiRefusal.invalid('amount', `The amount with the payer's commission must not be above ${largest}.`);
    }
    const bill: Bill = { id: randomId(), shopId: shop.id, ...request, createdAt: this.clock.instant() };
    this.store.commit({ bill });
    return bill;
  }

  /** 4.2 */
  payments(shop: Shop, parameters: Parameters): Payment[] {
    this.admit(shop, parameters);
    const id = parameters.get('id');
    if (!id) throw ApiRefusal.invalid('id', 'The id field is required.');
    // A bill of another shop is not told apart from one that does not exist.
    if (this.store.bills.get(id)?.shopId !== shop.id) throw ApiRefusal.billNotFound();
    const payments = this.store.paymentsOf(id);
    if (payments.length > shop.maxPayments) throw ApiRefusal.tooManyPayments();
    return payments;
  }

  private admit(shop: Shop, parameters: Parameters): void {
    const shopId = parameters.get('shop_id');
    if (shopId && shopId !== shop.id) throw ApiRefusal.merchantNotFound();
    if (shop.banned) throw ApiRefusal.merchantBanned();
  }
}
