import type { BillState } from '../../domain/bill.js';
import type { BillId, IntentId, OrderId } from '../../domain/ids.js';
import type { RedactedPart } from '../../retention/storage/redaction.js';

export type { RedactedPart };

/**
 * What an erasure removes besides: raw fields of postbacks that name the order and no known bill, the payments listed of its
 * bills when they were lost bills, and the notes of operators' actions.
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
  /** The number of records from which something was removed; all 0 if it had been done before. */
  readonly removed: Readonly<Record<ErasedPart, number>>;
}
