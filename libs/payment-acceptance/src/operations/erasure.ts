import { shownText } from '../common/text.js';
import type { ErasedBill, PaymentErasure } from './records.js';
import type { OrderKey } from './storage/erasure.store.js';
import type { OperationsParts } from './operations-parts.js';
import { PaymentOperatorActionError } from './operator.errors.js';

export interface PaymentErasureOptions {
  /** Name of the person or program that erases the data; recorded with the action. */
  readonly operator: string;
}

/**
 * The order is locked, so that no settlement and no creation is under way. Each bill is marked in the same transaction,
 * so that what comes later is stored without personal data.
 */
export async function eraseOrder(
  { erasures, bills, store }: OperationsParts,
  order: OrderKey,
  { operator }: PaymentErasureOptions,
): Promise<PaymentErasure> {
  // Checked before the order is locked, because locking would create a row for it.
  if ((await erasures.billsOf(order)).length === 0) throw noBillError(order);
  return store.transaction(async (tx) => {
    await bills.lockOrder(tx, order.shop, order.orderId);
    const orderBills = await erasures.billsOf(order, tx);
    const ids = orderBills.map(({ intentId }) => intentId);
    assertErasable(order, orderBills, await erasures.openReviews(tx, ids));
    const removed = await erasures.erase(tx, order, orderBills);
    const detail = { shop: order.shop, orderId: order.orderId, removed };
    // Recorded even if retention has removed everything already: it proves that the request was answered.
    for (const target of ids) await store.record({ operator, action: 'erase', target, detail }, tx);
    return { ...order, bills: orderBills, removed };
  });
}

export function noBillError({ shop, orderId }: OrderKey): PaymentOperatorActionError {
  return new PaymentOperatorActionError(
    `Shop "${shownText(shop)}" has no bill of order "${shownText(orderId)}", so nothing was removed. If it is another ` +
      "shop's order, specify that shop.",
  );
}

function assertErasable({ orderId }: OrderKey, bills: readonly ErasedBill[], reviews: readonly string[]): void {
  const order = `Order "${shownText(orderId)}"`;
  if (bills.some(({ state }) => state === 'CREATING')) {
    throw new PaymentOperatorActionError(`${order} has a bill being created. Try again in a minute.`);
  }
  const unknown = bills.filter(({ state }) => state === 'UNKNOWN').map(({ intentId }) => intentId);
  if (unknown.length > 0) {
    throw new PaymentOperatorActionError(
      `${order} has a bill whose creation has an unknown outcome (intent ${unknown.join(', ')}); its ` +
        '"custom" may help to find it at the service. Attach or void it first, then erase.',
    );
  }
  if (reviews.length > 0) {
    throw new PaymentOperatorActionError(
      `${order} still has open reviews (${reviews.join(', ')}), and their evidence is in the records that would be ` +
        'erased. Accept or dismiss each one first, then erase.',
    );
  }
}
