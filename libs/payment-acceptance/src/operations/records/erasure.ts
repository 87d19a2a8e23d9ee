import type { BillState } from '../../domain/bill.js';
import type { BillId, IntentId, OrderId } from '../../domain/ids.js';
import type { RedactedPart } from '../../retention/storage/redaction.js';

export type { RedactedPart };

/**
 * What an erasure removes: the same parts as retention, and also raw fields of postbacks that name the order but no known
 * bill, the payments that were listed while the order's bills were lost bills, and the notes of operators' actions.
 */
export type ErasedPart = RedactedPart | 'waitingCallbacks' | 'lostBills' | 'notes';

/** A bill of an erased order. */
export interface ErasedBill {
  readonly intentId: IntentId;
  readonly billId: BillId | null;
  readonly state: BillState;
}

/** The result of `PaymentOperations.eraseOrder`. */
export interface PaymentErasure {
  readonly shop: string;
  readonly orderId: OrderId;
  readonly bills: readonly ErasedBill[];
  /** For each part, the number of records from which data was removed; all 0 if the order had been erased before. */
  readonly removed: Readonly<Record<ErasedPart, number>>;
}
