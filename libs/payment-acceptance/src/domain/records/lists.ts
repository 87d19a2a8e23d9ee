import type { BillState } from '../bill.js';
import type { IntentId, OrderId } from '../ids.js';
import type { RecordedAction } from './bill-history.js';

/** One page of a list, and whether there are further ones. */
export interface RecordPage<Row> {
  readonly rows: readonly Row[];
  readonly more: boolean;
}

/** Which bills to list; what is left out is any. */
export interface BillQuery {
  readonly shop?: string;
  readonly states?: readonly BillState[];
  /** Only bills made before the one of this intent: the last one of the page before. */
  readonly before?: string;
}

/** A postback that waits for a bill of ours to have the id it names. */
export interface WaitingPostback {
  readonly shop: string;
  /** As the postback says: anybody can send one. */
  readonly orderId: OrderId | null;
  /** The service's `bill_id`, as the postback says. */
  readonly trsId: string | null;
  readonly status: string | null;
  readonly digest: string;
  /** ISO 8601. */
  readonly receivedAt: string;
}

/** What an operator did, with the bill that it was about, where there is one. */
export interface LoggedAction extends RecordedAction {
  readonly intentId: IntentId | null;
  readonly orderId: OrderId | null;
}
