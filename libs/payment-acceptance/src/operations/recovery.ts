import type { OrderId } from '../domain/ids.js';
import { parseAmount } from '../domain/money.js';
import type { UnknownBillPostback } from './storage/recovery.store.js';
import type { BillToImport } from './bill-to-import.js';

/** A bill that is not known here, in the format of `import`, which refuses it while `verified` is `false`. */
export interface RecoveredBill extends BillToImport {
  readonly shop: string;
  /** Order and amount are not from our own records: a person has to confirm them, and then set this to `true`. */
  readonly verified: boolean;
  readonly createdAt: string;
  /** What a person has to know about the bill. */
  readonly note: string;
}

export class PostbackEvidence {
  private readonly orders = new Set<OrderId>();
  private count = 0;

  constructor(
    private readonly shop: string,
    private readonly first: UnknownBillPostback,
  ) {}

  add({ orderId }: UnknownBillPostback): void {
    this.count += 1;
    if (orderId !== null && this.orders.size < 5) this.orders.add(orderId);
  }

  bill(): RecoveredBill {
    const { billId, amountText, currencyText, status, digest, receivedAt } = this.first;
    const orders = this.orders.size > 1 ? ` They name several orders: ${[...this.orders].join(', ')}.` : '';
    return {
      verified: false,
      note:
        `Only postbacks name this bill (${this.count}; the first: ${status ?? 'no status'}, digest ${digest}), and anybody can send one.${orders} ` +
        'Look up the bill in the account, and its order. The amount is what was billed, without commission.',
      shop: this.shop,
      orderId: [...this.orders][0] ?? '',
      billId,
      amount: parseAmount(amountText ?? '') ?? '',
      ...(currencyText !== null && /^[A-Z]{3}$/.test(currencyText) && { currency: currencyText }),
      createdAt: receivedAt.toISOString(),
    };
  }
}
