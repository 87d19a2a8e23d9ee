import type { BillToImport } from './bill-to-import.js';
import type { LostBill } from './records.js';
import { PaymentOperatorActionError } from './operator.errors.js';
import type { PaymentOperatorOptions } from './operator-options.js';

/**
 * What a person must find out about a lost bill, because the service does not report it and a postback proves nothing. The
 * paid amount may differ from `amount`.
 */
export interface PaymentTakeInOptions
  extends
    PaymentOperatorOptions,
    Pick<BillToImport, 'orderId' | 'amount' | 'currency' | 'payerPaysCommission' | 'linkPageUrl'> {}

/** When the bill was created is unknown; it already existed at its first payment and at its first postback. */
export function earliest({ payments, firstPostbackAt }: LostBill): string {
  const times = [firstPostbackAt, ...payments.map(({ createdAt }) => createdAt)].filter((at) => at !== null);
  return times.reduce((first, at) => (at < first ? at : first));
}

export function notLostError(id: string): PaymentOperatorActionError {
  return new PaymentOperatorActionError(`There is no lost bill ${id.slice(0, 64)}, or it is no longer lost.`);
}
