import { Injectable } from '@nestjs/common';
import { BillService, type CreateBillOptions, type PaymentBill } from './bills/bill.service.js';
import type { CreateBillRequest } from './bills/bill-request.js';
import { PaymentServiceClient, type RequestControl } from './client/payment-service.client.js';
import type { ReportedPayment } from './common/payment.js';
import { ShopRegistry } from './config/shop-registry.js';
import { PaymentShop } from './payment-shop.js';
import type { BillRecord } from './storage/bill.store.js';

/** The default shop, and the way to every other one. */
@Injectable()
export class PaymentAcceptanceService {
  private readonly shops: ReadonlyMap<string, PaymentShop>;

  constructor(
    private readonly registry: ShopRegistry,
    bills: BillService,
    client: PaymentServiceClient,
  ) {
    this.shops = new Map(registry.names.map((name) => [name, new PaymentShop(registry.get(name), bills, client)]));
  }

  /**
   * The shop of that name; without one, the default shop.
   * @throws UnknownShopError
   */
  shop(name: string = this.registry.default.name): PaymentShop {
    return this.shops.get(name) ?? this.shop(this.registry.get(name).name);
  }

  /** {@link PaymentShop.createBill} of the default shop. */
  createBill(request: CreateBillRequest, options?: CreateBillOptions): Promise<PaymentBill> {
    return this.shop().createBill(request, options);
  }

  /** {@link PaymentShop.listPayments} of the default shop. */
  listPayments(billId: string, control?: RequestControl): Promise<ReportedPayment[]> {
    return this.shop().listPayments(billId, control);
  }

  /** {@link PaymentShop.findBills} of the default shop. */
  findBills(orderId: string): Promise<BillRecord[]> {
    return this.shop().findBills(orderId);
  }
}
