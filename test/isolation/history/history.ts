/** What a caller knows about its request: a connection error leaves the outcome open. */
export type Outcome = 'done' | 'refused' | 'unknown';

/** What has been seen from outside: by payers, callers, handlers, the broker and operators. */
export type Entry =
  /** A call of `createBill` has resolved. */
  | { readonly what: 'bill'; readonly shop: string; readonly orderId: string; readonly billId: string }
  /** An order whose bill was asked for. */
  | { readonly what: 'order'; readonly shop: string; readonly orderId: string }
  /** A payment has ended at the service. */
  | {
      readonly what: 'payment';
      readonly paymentId: string;
      readonly billId: string;
      readonly status: 'SUCCESS' | 'FAIL';
    }
  /** A postback was answered with 200; `mark` is what it is known by, where a test has sent it. */
  | { readonly what: 'acknowledged'; readonly billId: string; readonly mark: string | null }
  /** A handler or listener of an application was given an event. */
  | { readonly what: 'handed'; readonly application: string; readonly shop: string; readonly eventId: string }
  /** `processOnce` has resolved for an event. */
  | { readonly what: 'processed'; readonly eventId: string; readonly now: boolean }
  /** `note` is the action's own; `changed` says how many deliveries a replay has met, where that is known. */
  | {
      readonly what: 'action';
      readonly note: string;
      readonly target: string;
      readonly outcome: Outcome;
      readonly changed?: number;
    };

/** One order of everything that was seen; nothing of it is ever taken back. */
export class History {
  private readonly seen: Entry[] = [];

  add(entry: Entry): void {
    this.seen.push(entry);
  }

  of<What extends Entry['what']>(what: What): Extract<Entry, { what: What }>[] {
    return this.seen.filter((entry): entry is Extract<Entry, { what: What }> => entry.what === what);
  }
}

/** The name of what processes the messages of a broker, in the table of effects. */
export const INBOX = 'inbox';

/** Durable consumers and the inbox: each has one effect of each payment's event. */
export const CONSUMERS = ['orders', INBOX] as const;

/** What is in the tables in the end. */
export interface Tables {
  readonly bills: readonly { readonly shop: string; readonly orderId: string; readonly billId: string | null }[];
  readonly events: readonly {
    readonly id: string;
    readonly name: string;
    readonly billId: string;
    readonly paymentId: string | null;
  }[];
  readonly reviews: readonly {
    readonly id: string;
    readonly billId: string;
    readonly paymentId: string | null;
    readonly state: string;
  }[];
  readonly deliveries: readonly { readonly id: string; readonly eventId: string; readonly replays: number }[];
  readonly effects: readonly { readonly consumer: string; readonly eventId: string }[];
  readonly callbacks: readonly { readonly billId: string | null; readonly mark: string | null }[];
  readonly actions: readonly { readonly note: string; readonly action: string; readonly target: string }[];
}
