import { Injectable } from '@nestjs/common';
import { BillService } from '../bills/bill.service.js';
import { PaymentServiceClient } from '../client/payment-service.client.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { PaymentShop } from './payment-shop.js';

/** Creates `PaymentShop`s. Used by `forFeature`, so that a test can replace `PaymentAcceptanceService` alone. */
@Injectable()
export class PaymentShops {
  constructor(
    private readonly registry: ShopRegistry,
    private readonly bills: BillService,
    private readonly client: PaymentServiceClient,
  ) {}

  /** @throws PaymentUnknownShopError if there can be no such shop; a shop from the resolver is looked up when it is used */
  shop(name: string = this.registry.defaultName): PaymentShop {
    return new PaymentShop(this.registry.requireName(name), this.registry, this.bills, this.client);
  }
}
