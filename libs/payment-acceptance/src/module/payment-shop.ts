import type { CreateBillRequest } from '../bills/bill-request.js';
import type { BillService, CreateBillOptions } from '../bills/bill.service.js';
import type { PaymentBill } from '../bills/payment-bill.js';
import type { PaymentServiceClient, RequestControl } from '../client/payment-service.client.js';
import type { PaymentShopSettings } from '../config/resolved-options.js';
import type { ShopRegistry } from '../config/shop-registry.js';
import { ShopNotReadError } from '../config/shop.errors.js';
import type { BillRecord } from '../domain/bill.js';
import type { ReportedPayment } from '../domain/payment.js';

/**
 * One shop of the payment acceptance service: what business code talks to. A shop that comes from the option
 * `shopResolver` is looked up at each call. Its methods then throw, beside their own errors, UnknownShopError where it is
 * not there (any more), ShopResolverError or InvalidShopError; nothing was stored or sent.
 */
export class PaymentShop {
  /** @internal */
  constructor(
    /** The shop's name in the options, or at the shop resolver. */
    readonly name: string,
    private readonly shops: ShopRegistry,
    private readonly bills: BillService,
    private readonly client: PaymentServiceClient,
  ) {}

  /**
   * Currency of bills that name none.
   * @throws ShopNotReadError while nothing was asked of a shop that comes from the resolver: see {@link settings}
   */
  get currency(): string {
    const shop = this.shops.peek(this.name);
    if (!shop) throw new ShopNotReadError(this.name);
    return shop.currency;
  }

  /** The shop's settings as they are now, without its tokens. */
  async settings(): Promise<PaymentShopSettings> {
    const { token: _token, previousTokens: _previous, ...settings } = await this.shops.get(this.name);
    return settings;
  }

  /**
   * Creates the bill of an order, or returns the open one; see {@link BillService.create} for the errors. Send the payer
   * to `linkPageUrl`.
   */
  async createBill(request: CreateBillRequest, options?: CreateBillOptions): Promise<PaymentBill> {
    return this.bills.create(await this.shops.get(this.name), request, options);
  }

  /**
   * The payments of a bill as the service lists them now (section 4.2), by the service's `bill_id`. Settles nothing.
   * @throws PaymentServiceError
   */
  async listPayments(billId: string, control?: RequestControl): Promise<ReportedPayment[]> {
    return this.client.listPayments(await this.shops.get(this.name), billId, control);
  }

  /** The bills of an order as we keep them, first attempt first; also those of a shop that is no longer there. */
  findBills(orderId: string): Promise<BillRecord[]> {
    return this.bills.ofOrder(this.name, orderId);
  }
}
