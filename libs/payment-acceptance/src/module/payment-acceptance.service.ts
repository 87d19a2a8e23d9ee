import { Injectable } from '@nestjs/common';
import type { CreateBillRequest } from '../bills/bill-request.js';
import type { CreateBillOptions } from '../bills/bill.service.js';
import type { PaymentBill } from '../bills/payment-bill.js';
import type { RequestControl } from '../client/payment-service.client.js';
import type { BillRecord } from '../domain/bill.js';
import type { ReportedPayment } from '../domain/payment.js';
import { type PaymentShop, PaymentShops } from './payment-shop.js';

/** The default shop, and access to every other shop. */
@Injectable()
export class PaymentAcceptanceService {
  /** @internal */
  constructor(private readonly shops: PaymentShops) {}

  /**
   * The shop with that name, or the default shop. A shop from the option `shopResolver` is looked up when it is used.
   * @throws PaymentUnknownShopError if the options have no such shop and there is no resolver
   */
  shop(name?: string): PaymentShop {
    return this.shops.shop(name);
  }

  /** {@link PaymentShop.createBill} of the default shop. */
  createBill(request: CreateBillRequest, options?: CreateBillOptions): Promise<PaymentBill> {
    return this.shop().createBill(request, options);
  }

  /** {@link PaymentShop.cancelOrder} of the default shop. */
  cancelOrder(orderId: string): Promise<void> {
    return this.shop().cancelOrder(orderId);
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
