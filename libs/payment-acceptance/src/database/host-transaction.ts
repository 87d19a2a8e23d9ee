import type { PaymentTransactions, Scalar } from './payment-transactions.js';

/** A driver's answer. */
export interface Answer {
  readonly rows: readonly Record<string, unknown>[];
  /** How many rows INSERT, UPDATE or DELETE has affected. */
  readonly changed: number;
}

/** A transaction that a data layer of the host's has begun, for statements of ours. They bind scalars only. */
export class HostTransaction {
  constructor(
    private readonly layer: PaymentTransactions,
    /** What the layer calls its transaction: the handler writes through it. */
    readonly tx: unknown,
  ) {}

  readonly parameter = (place: number): string => (this.layer.placeholders === '?' ? '?' : `$${place}`);

  async send(text: string, values: readonly unknown[], resultKind: 'rows' | 'count'): Promise<Answer> {
    const { rows, rowCount } = await this.layer.query(this.tx, text, values as readonly Scalar[], resultKind);
    return { rows: rows as Answer['rows'], changed: rowCount };
  }
}
