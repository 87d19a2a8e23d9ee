import type { PaymentTransactions, Scalar } from './payment-transactions.js';
import { Queryable, type Answer } from './queryable.js';
import type { Statement } from './statement.js';

interface TextSender {
  sendProbed<T>(statement: string, send: (text: string) => Promise<T>): Promise<T>;
}

/** A transaction begun by one of the host's data layers. Our statements in it bind scalars only. */
export class HostTransaction extends Queryable {
  constructor(
    private readonly sender: TextSender,
    private readonly layer: PaymentTransactions,
    /** The layer's own object for the transaction: the handler writes through it. */
    readonly tx: unknown,
  ) {
    super();
  }

  override run(statement: Statement, gives: 'rows' | 'count'): Promise<Answer> {
    const whole = statement.text((place) => (this.layer.placeholders === '?' ? '?' : `$${place}`));
    return this.sender.sendProbed(whole, async (text) => {
      const { rows, rowCount } = await this.layer.query(this.tx, text, statement.values as readonly Scalar[], gives);
      return { rows: rows as Answer['rows'], changed: rowCount };
    });
  }
}
