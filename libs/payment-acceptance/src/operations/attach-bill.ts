import { linkLateCallbacks } from '../callbacks/late-callbacks.js';
import type { CallbackStore } from '../callbacks/storage/callback.store.js';
import { isUniqueViolation } from '../database/query-errors.js';
import type { BillRecord } from '../domain/bill.js';
import type { BillId, IntentId } from '../domain/ids.js';
import { PaymentOperatorActionError } from './operator.errors.js';
import type { OperatorStore } from './storage/operator.store.js';

export interface FoundBill {
  readonly billId: BillId;
  readonly linkPageUrl: string | null;
  readonly operator: string;
  readonly note: string;
}

/**
 * The bill is checked at once, with the postbacks that wait for it.
 * @throws PaymentOperatorActionError if the outcome is no longer unknown, or the bill belongs to another order
 */
export async function attachBill(
  store: OperatorStore,
  callbacks: CallbackStore,
  bill: BillRecord,
  { billId, linkPageUrl, operator, note }: FoundBill,
): Promise<void> {
  const { intentId } = bill;
  const action = { operator, action: 'attach-bill', target: intentId, detail: { serviceBillId: billId, note } };
  try {
    await store.act(action, async (tx) => {
      if (!(await store.attach(tx, intentId, billId, linkPageUrl))) throw notUnknownError(intentId);
    });
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new PaymentOperatorActionError(`Bill ${billId} already belongs to another order.`);
  }
  await linkLateCallbacks(callbacks, { ...bill, billId });
}

export function notUnknownError(intentId: IntentId): PaymentOperatorActionError {
  return new PaymentOperatorActionError(
    `Intent ${intentId.slice(0, 64)} does not have an unknown outcome, or no longer has one.`,
  );
}
