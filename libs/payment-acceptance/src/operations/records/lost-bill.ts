import type { BillId, IntentId, OrderId } from '../../domain/ids.js';
import type { LostBillPayment } from '../../settlement/storage/inquiry.store.js';

export type { LostBillPayment };

/** A bill that the service created for a shop but that is missing from the ledger. */
export interface LostBill {
  /** Our id of this record. */
  readonly id: string;
  readonly shop: string;
  /** The service's `bill_id`. */
  readonly billId: BillId;
  /** The order named by its first postback. Anybody can send a postback, so this proves nothing. */
  readonly namedOrderId: OrderId | null;
  /** How many different orders its waiting postbacks name. The postbacks of a genuine bill name only one. */
  readonly namedOrderCount: number;
  /** Our intent of unknown outcome for the named order, if there is one: the lost bill may be the one that it created. */
  readonly unknownIntentId: IntentId | null;
  /** The payments last listed, at most 20, successful ones first; empty if the service has too many to list any. */
  readonly payments: readonly LostBillPayment[];
  /** How many payments were listed. */
  readonly paymentCount: number;
  /** When the first postback that names the bill came, ISO 8601. */
  readonly firstPostbackAt: string;
  /** When the service confirmed the bill, ISO 8601. */
  readonly foundAt: string;
  /** When the service was last asked about the bill, ISO 8601. */
  readonly askedAt: string;
}
