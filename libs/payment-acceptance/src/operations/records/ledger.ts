import type { BillRecord, BillState } from '../../domain/bill.js';
import type { DeliveryState } from '../../domain/delivery.js';

/** What the module has recorded, newest first and limited: bills, payments, callbacks, events, reviews. */
export interface PaymentLedger {
  readonly bills: readonly LedgerBill[];
  readonly payments: readonly LedgerEntry[];
  readonly callbacks: readonly LedgerCallback[];
  readonly events: readonly LedgerEvent[];
  readonly reviews: readonly LedgerReview[];
}

export interface LedgerBill extends Pick<
  BillRecord,
  'shop' | 'orderId' | 'attempt' | 'billId' | 'amount' | 'currency'
> {
  readonly intentId: string;
  readonly state: BillState;
  readonly failure: string | null;
  readonly createdAt: string;
  readonly checkedAt: string | null;
  readonly nextCheckAt: string | null;
  readonly lastCheckError: string | null;
}

export interface LedgerEntry {
  readonly shop: string;
  readonly paymentId: string;
  readonly orderId: string;
  readonly billId: string;
  readonly status: string;
  readonly amount: string | null;
  readonly amountReceived: string | null;
  readonly currency: string | null;
  readonly fromCard: string | null;
  readonly verdict: string;
  readonly firstSeenAt: string;
}

export interface LedgerCallback {
  readonly id: string;
  readonly kind: string;
  readonly shop: string;
  /** The bill it was matched with; `null` if it names none of ours. */
  readonly billId: string | null;
  /** What it asserts. */
  readonly orderId: string | null;
  readonly trsId: string | null;
  readonly status: string | null;
  readonly digest: string;
  /** `match`, `mismatch` or `absent` for `order`, `amount`, `currency` and `custom`; without `custom` if the bill's was removed. */
  readonly corroboration: Readonly<Record<string, string>>;
  readonly pending: boolean;
  /** How often the service was asked again because its list did not yet show the payment. */
  readonly asks: number;
  /** Whether the service's list showed what the postback asserts; `null` until then, and for callbacks that assert nothing. */
  readonly outcome: 'confirmed' | 'unconfirmed' | null;
  readonly receivedAt: string;
}

export interface LedgerEvent {
  readonly id: string;
  readonly name: string;
  readonly shop: string;
  readonly orderId: string;
  readonly billId: string;
  readonly paymentId: string | null;
  readonly occurredAt: string;
  readonly deliveries: readonly LedgerDelivery[];
}

export interface LedgerDelivery {
  readonly consumer: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly lastError: string | null;
}

export interface LedgerReview {
  readonly id: string;
  readonly shop: string;
  readonly orderId: string;
  readonly billId: string;
  readonly paymentId: string | null;
  readonly reason: string;
  readonly state: 'OPEN' | 'ACCEPTED' | 'DISMISSED';
  readonly detail: object;
  readonly openedAt: string;
}
