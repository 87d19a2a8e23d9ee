import type { BillState } from '../../domain/bill.js';
import type { IntentId, OrderId } from '../../domain/ids.js';
import type { RecordedAction } from './bill-history.js';

/** One page of a list, and whether there are more. */
export interface RecordPage<Row> {
  readonly rows: readonly Row[];
  readonly more: boolean;
}

/** Selects bills; an omitted field matches all. */
export interface BillQuery {
  readonly shop?: string;
  readonly states?: readonly BillState[];
  /** Only bills created before the one with this intent id: the last bill of the previous page. */
  readonly before?: string;
}

/** A postback that names no known bill and waits for one. */
export interface WaitingPostback {
  readonly shop: string;
  /** As the postback claims, which anybody can have sent. */
  readonly orderId: OrderId | null;
  /** The service's `bill_id`, as the postback claims. */
  readonly trsId: string | null;
  readonly status: string | null;
  readonly digest: string;
  /** ISO 8601. */
  readonly receivedAt: string;
}

/** What an operator did, with the bill concerned, if there is one. */
export interface LoggedAction extends RecordedAction {
  readonly intentId: IntentId | null;
  readonly orderId: OrderId | null;
}
