/** Who acts, and why: recorded with the action. */
export interface PaymentOperatorOptions {
  /** Name of the person or program. */
  readonly operator: string;
  /** The reason. Default: none. */
  readonly note?: string;
}
