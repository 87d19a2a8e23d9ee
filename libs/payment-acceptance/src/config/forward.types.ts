/** A postback whose `TrsId` is no bill of ours, as it came. */
export interface ForwardedPostback {
  /** Name of the shop whose route it came to. */
  readonly shop: string;
  /** `TrsId`: the service's bill id. */
  readonly billId: string;
  /** `InvId`: the order it names. */
  readonly orderId: string;
  /** Every field as the host's body parser read it, unknown ones and `SignatureValue` included. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The transmitted bytes, where the application was created with `rawBody: true`: digests are computed over these. */
  readonly rawBody?: Buffer;
  /** `Content-Type` of the postback. */
  readonly contentType?: string;
  /** Whether `SignatureValue` is what the redirect's formula gives for one of the shop's tokens. */
  readonly digest: 'match' | 'mismatch' | 'absent';
}

/**
 * Hands a postback to an older integration. The promise says what became of it: `true`, it was accepted there for good;
 * `false`, it is not that integration's either. A rejection means that nobody knows: the sender is answered 503 and
 * sends it again, so what it does must be safe to repeat. The signal aborts at the time limit.
 */
export type ForwardPostback = (postback: ForwardedPostback, signal: AbortSignal) => Promise<boolean>;
