import type { BillRecord } from '../domain/bill.js';
import { PaymentBillAddressError } from './bill.errors.js';

/** A bill the payer can pay. */
export interface PaymentBill {
  /** The service's `bill_id` (section 2.2). */
  readonly billId: string;
  /**
   * `link_page_url` (section 2.2): send the payer here. An http or https address, normalised as a browser does, on any
   * host that the service names, private ones included: we send no request there.
   */
  readonly linkPageUrl: string;
  /** `link_url` (section 2.2); `null` if the service gave no http or https address. */
  readonly linkUrl: string | null;
  readonly orderId: string;
  readonly attempt: number;
  readonly amount: string;
  readonly currency: string;
  /** Id of the stored intent. */
  readonly intentId: string;
}

/** @throws PaymentBillAddressError if the service gave no address to pay at */
export function toPaymentBill(bill: BillRecord): PaymentBill {
  if (bill.billId === null || bill.linkPageUrl === null) {
    throw new PaymentBillAddressError(bill.shop, bill.orderId, bill.billId ?? '');
  }
  return {
    billId: bill.billId,
    linkPageUrl: bill.linkPageUrl,
    linkUrl: bill.linkUrl,
    orderId: bill.orderId,
    attempt: bill.attempt,
    amount: bill.amount,
    currency: bill.currency,
    intentId: bill.intentId,
  };
}
