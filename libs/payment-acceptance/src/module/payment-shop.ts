import { Injectable } from '@nestjs/common';
import type { CreateBillRequest } from '../bills/bill-request.js';
import { BillService, type CreateBillOptions } from '../bills/bill.service.js';
import type { PaymentBill } from '../bills/payment-bill.js';
import { PaymentServiceClient, type RequestControl } from '../client/payment-service.client.js';
import type { PaymentShopSettings } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { PaymentShopNotReadError } from '../config/shop.errors.js';
import { throwTyped } from '../database/database.errors.js';
import type { BillRecord } from '../domain/bill.js';
import type { ReportedPayment } from '../domain/payment.js';
import { ShopIdentities } from '../settlement/shop-identities.js';

/**
 * One shop of the payment acceptance service: the API for business code. A shop from the option `shopResolver` is
 * looked up at each call. Its methods may then also throw PaymentUnknownShopError if the shop does not exist (any
 * more), PaymentShopResolverError or PaymentInvalidShopError; in that case nothing was stored or sent.
 */
export class PaymentShop {
  /** @internal */
  constructor(
    /** The shop's name in the options, or at the shop resolver. */
    readonly name: string,
    private readonly shops: ShopRegistry,
    private readonly bills: BillService,
    private readonly client: PaymentServiceClient,
    private readonly identities: ShopIdentities,
  ) {}

  /**
   * Default currency of the shop's bills.
   * @throws PaymentShopNotReadError for a shop from the resolver that has not been looked up yet: see {@link settings}
   */
  get currency(): string {
    const shop = this.shops.peek(this.name);
    if (!shop) throw new PaymentShopNotReadError(this.name);
    return shop.currency;
  }

  /** The shop's current settings, without its tokens. */
  async settings(): Promise<PaymentShopSettings> {
    const { token: _token, previousTokens: _previous, ...settings } = await this.shops.get(this.name);
    return settings;
  }

  /**
   * Creates the bill of an order, or returns the open one. Send the payer to `linkPageUrl`. Concurrent calls create one
   * bill.
   *
   * Call it outside your transactions, once the order is stored. It also works inside a transaction, but the bill stays
   * if you roll back.
   * @throws PaymentInvalidBillRequestError, PaymentOrderAlreadyPaidError, PaymentOrderCancelledError,
   *   PaymentOrderIdReusedError, PaymentBillMismatchError, PaymentCreationInProgressError
   * @throws PaymentApplicationStoppingError while the application shuts down
   * @throws PaymentDatabaseError, PaymentPoolExhaustedError, PaymentStatementTimeoutError, PaymentReadOnlyDatabaseError
   *   if the database does not answer: nothing was sent
   * @throws PaymentServiceError if the service refused, or the request never left: no bill was created
   * @throws PaymentUnknownOutcomeError if a bill may have been created
   * @throws PaymentBillNotStoredError if the bill was created but is not stored yet: call again
   * @throws PaymentBillAddressError if the bill was created but has no usable address
   */
  async createBill(request: CreateBillRequest, options?: CreateBillOptions): Promise<PaymentBill> {
    const shop = await this.shops.get(this.name);
    await this.shops.requireListed(shop.name);
    await this.identities.bind(shop).catch(throwTyped);
    return this.bills.create(shop, request, options);
  }

  /**
   * Cancels an unpaid order in the ledger only (assumed: the service offers no way to close a bill). From then on
   * `createBill` throws PaymentOrderCancelledError. The payer can still pay through an existing link; such a payment
   * opens a review `order-cancelled` and creates no `payment.succeeded`, unless a person accepts it. If a payment is
   * being settled at the same time, the order ends up either paid or cancelled, never both. A `createBill` call in
   * progress still returns its bill.
   *
   * It commits on its own, and may be called again. Call it before you mark the order as cancelled, on the shop that
   * made the order's bills. A cancelled order stays cancelled. An order without a bill can be cancelled, too.
   * @throws PaymentOrderAlreadyPaidError if a payment of it has succeeded
   * @throws PaymentInvalidBillRequestError if no order can have this id
   * @throws PaymentInvalidShopError if the shop's name stands for another shop
   */
  async cancelOrder(orderId: string): Promise<void> {
    const shop = await this.shops.get(this.name);
    await this.identities.bind(shop).catch(throwTyped);
    return this.bills.cancelOrder(shop.name, orderId);
  }

  /**
   * The payments that the service lists now for a bill (section 4.2), by the service's `bill_id`. Settles nothing.
   * @throws PaymentServiceError
   */
  async listPayments(billId: string, control?: RequestControl): Promise<ReportedPayment[]> {
    return this.client.listPayments(await this.shops.get(this.name), billId, control);
  }

  /** The stored bills of an order, first attempt first, even if the shop no longer exists. */
  findBills(orderId: string): Promise<BillRecord[]> {
    return this.bills.ofOrder(this.name, orderId);
  }
}

/** Used by `forFeature`, so that a test can replace `PaymentAcceptanceService` alone. */
@Injectable()
export class PaymentShops {
  constructor(
    private readonly registry: ShopRegistry,
    private readonly bills: BillService,
    private readonly client: PaymentServiceClient,
    private readonly identities: ShopIdentities,
  ) {}

  shop(name: string = this.registry.defaultName): PaymentShop {
    return new PaymentShop(this.registry.requireName(name), this.registry, this.bills, this.client, this.identities);
  }
}
