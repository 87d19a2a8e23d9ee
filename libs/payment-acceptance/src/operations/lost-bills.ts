import type { OrderId } from '../domain/ids.js';
import type { DecimalAmount } from '../domain/money.js';
import type { LostBill } from './records.js';
import type { OperationsParts } from './operations-parts.js';
import type { ShopScope } from '../database/scope.js';
import { PaymentOperatorActionError } from './operator.errors.js';
import type { PaymentOperatorOptions } from './operator-options.js';

/** What a person must find out about a lost bill, because the service does not report it and a postback proves nothing. */
export interface PaymentTakeInOptions extends PaymentOperatorOptions {
  /** The order that the bill is for, 1 to 255 characters. */
  readonly orderId: OrderId;
  /** The billed amount: an exact decimal above 0, such as `100.05`. The paid amount may differ. */
  readonly amount: DecimalAmount;
  /** Three capital letters. Default: the shop's currency. */
  readonly currency?: string;
  /** Whether the payer pays the commission on top, so that more than the amount may be paid. Default: the shop's. */
  readonly payerPaysCommission?: boolean;
  /**
   * Address of the payment page: https, or outside production also http. Default: none; then `createBill` cannot return the
   * bill.
   */
  readonly linkPageUrl?: string;
}

export async function takeInLostBill(
  { lostBills, importer }: OperationsParts,
  id: string,
  { operator, note = '', ...fields }: PaymentTakeInOptions,
  scope: ShopScope,
): Promise<void> {
  const lost = await lostBills.byId(id, scope);
  if (!lost) throw notLostError(id);
  const { shop, billId } = lost;
  // The caller's fields come first, so that ours win: a JavaScript caller may pass any, but must not choose shop or bill.
  const bill = { ...fields, shop, billId, createdAt: earliest(lost) };
  const { refused } = await importer.importBills([bill], { operator, note });
  if (refused[0]) throw new PaymentOperatorActionError(refused[0].problems.join(' '));
}

export async function dismissLostBill(
  { lostBills, store }: OperationsParts,
  id: string,
  { operator, note = '' }: PaymentOperatorOptions,
  scope: ShopScope,
): Promise<void> {
  if (note.trim() === '') throw new PaymentOperatorActionError('Add a note on why the bill is not yours.');
  const lost = await lostBills.byId(id, scope);
  if (!lost) throw notLostError(id);
  const detail = { shop: lost.shop, serviceBillId: lost.billId, note };
  await store.act({ operator, action: 'dismiss-lost-bill', target: id, detail }, async (tx) => {
    if (!(await lostBills.dismiss(tx, id))) throw notLostError(id);
  });
}

/** When the bill was created is unknown; it already existed at its first payment and at its first postback. */
function earliest({ payments, firstPostbackAt }: LostBill): string {
  const times = [firstPostbackAt, ...payments.map(({ createdAt }) => createdAt)].filter((at) => at !== null);
  return times.reduce((first, at) => (at < first ? at : first));
}

function notLostError(id: string): PaymentOperatorActionError {
  return new PaymentOperatorActionError(`There is no lost bill ${id.slice(0, 64)}, or it is no longer lost.`);
}
