import type { BillService, CreateBillOptions, PaymentBill } from './bills/bill.service.js';
import type { CreateBillRequest } from './bills/bill-request.js';
import type { PaymentServiceClient, RequestControl } from './client/payment-service.client.js';
import type { ReportedPayment } from './common/payment.js';
import type { Shop } from './config/resolved-options.js';
import type { BillRecord } from './storage/bill.store.js';

/** One shop of the payment acceptance service: what business code talks to. */
export class PaymentShop {
  constructor(
    private readonly shop: Shop,
    private readonly bills: BillService,
    private readonly client: PaymentServiceClient,
  ) {}

  /** The shop's name in the options. */
  get name(): string {
    return this.shop.name;
  }

  /** Currency of bills that name none. */
  get currency(): string {
    return this.shop.currency;
  }

  /**
   * Creates the bill of an order, or returns the open one; see {@link BillService.create} for the errors. Send the payer
   * to `linkPageUrl`.
   */
  createBill(request: CreateBillRequest, options?: CreateBillOptions): Promise<PaymentBill> {
    return this.bills.create(this.shop, request, options);
  }

  /**
   * The payments of a bill as the service lists them now (section 4.2), by the service's `bill_id`. Settles nothing.
   * @throws PaymentServiceError
   */
  listPayments(billId: string, control?: RequestControl): Promise<ReportedPayment[]> {
    return this.client.listPayments(this.shop, billId, control);
  }

  /** The bills of an order as we keep them, first attempt first. */
  findBills(orderId: string): Promise<BillRecord[]> {
    return this.bills.ofOrder(this.shop, orderId);
  }
}
