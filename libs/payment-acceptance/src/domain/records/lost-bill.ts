import type { BillId, IntentId, OrderId } from '../ids.js';
import type { ReportedPayment } from '../payment.js';

/** A bill that the service has made for a shop, and that the ledger does not have. */
export interface LostBill {
  /** Ours, of this record. */
  readonly id: string;
  readonly shop: string;
  /** The service's `bill_id`. */
  readonly billId: BillId;
  /** The order that the first postback of it named. Anybody can send a postback: it proves nothing. */
  readonly namedOrderId: OrderId | null;
  /** How many different orders the postbacks name that wait for it: of a genuine bill it is one. */
  readonly namedOrders: number;
  /** Our intent for the named order whose outcome is unknown, where there is one: then it may be its bill. */
  readonly unknownIntentId: IntentId | null;
  /** What the service listed last, at most 20, successful ones first; empty where it lists too many to show any. */
  readonly payments: readonly LostBillPayment[];
  /** How many payments it listed. */
  readonly listed: number;
  /** When its first postback came, when the service confirmed the bill, and when it was asked last: ISO 8601. */
  readonly firstPostbackAt: string;
  readonly foundAt: string;
  readonly askedAt: string;
}

/** A payment of a lost bill, as the service listed it last (section 2.3). */
export type LostBillPayment = Pick<
  ReportedPayment,
  'paymentId' | 'status' | 'statusText' | 'amount' | 'amountReceived' | 'currency' | 'fromCard' | 'createdAtText'
> & {
  /** ISO 8601, by the shop's `timeZone`; `null` where it could not be read. */
  readonly createdAt: string | null;
};
