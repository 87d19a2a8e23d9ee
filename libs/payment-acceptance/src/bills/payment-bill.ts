import type { BillRecord } from '../domain/bill.js';
import { BillAddressError } from './bill.errors.js';

/** A bill the payer can pay. */
export interface PaymentBill {
  /** The service's `bill_id` (section 2.2). */
  readonly billId: string;
  /**
   * `link_page_url` (section 2.2): send the payer here. An http or https address as a browser reads it, on whatever host
   * the service names, a private one included: no request of ours goes there.
   */
  readonly linkPageUrl: string;
  /** `link_url` (section 2.2); `null` where the service gave none that is http or https. */
  readonly linkUrl: string | null;
  readonly orderId: string;
  readonly attempt: number;
  readonly amount: string;
  readonly currency: string;
  /** Id of our stored intent. */
  readonly intentId: string;
}

/** @throws BillAddressError where the service gave no address to pay at. */
export function payable(bill: BillRecord): PaymentBill {
  if (bill.billId === null || bill.linkPageUrl === null) {
    throw new BillAddressError(bill.shop, bill.orderId, bill.billId ?? '');
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
