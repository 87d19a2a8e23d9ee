import { PaymentAcceptanceError } from '../common/errors.js';
import type { PaymentServiceError } from '../client/service.errors.js';

/** Base class of the errors that `createBill` and `cancelOrder` throw about an order and its bills. */
export abstract class PaymentBillError extends PaymentAcceptanceError {
  constructor(
    readonly shop: string,
    readonly orderId: string,
    sentence: string,
    options?: { cause?: PaymentAcceptanceError },
  ) {
    super(`Bill of order "${orderId}" of shop "${shop}": ${sentence}`, options);
  }
}

/** A field of the request cannot be sent. Nothing was stored or sent. */
export class PaymentInvalidBillRequestError extends PaymentBillError {
  readonly code = 'invalid-bill-request';
  constructor(
    shop: string,
    orderId: string,
    /** A sentence for each unusable field. */
    readonly problems: readonly string[],
  ) {
    super(shop, orderId, `the request cannot be sent: ${problems.join(' ')}`);
  }
}

/** Another call is creating this bill and did not finish within five seconds. */
export class PaymentCreationInProgressError extends PaymentBillError {
  readonly code = 'creation-in-progress';
  constructor(shop: string, orderId: string) {
    super(
      shop,
      orderId,
      'another call is creating it right now. Call again in a few seconds; it returns the same bill.',
    );
  }
}

/** The order is paid: another bill would charge the payer twice. */
export class PaymentOrderAlreadyPaidError extends PaymentBillError {
  readonly code = 'order-already-paid';
  constructor(
    shop: string,
    orderId: string,
    /** The first payment that paid the order. */
    readonly paymentId: string | null,
  ) {
    super(shop, orderId, 'the order is already paid. Show the payer the order instead.');
  }
}

/** The shop has cancelled the order: nobody may pay it any more. */
export class PaymentOrderCancelledError extends PaymentBillError {
  readonly code = 'order-cancelled';
  constructor(shop: string, orderId: string) {
    super(shop, orderId, 'the order is cancelled. Create a new order with its own id.');
  }
}

/** The ledger shows that this order id already belonged to an earlier order. */
export class PaymentOrderIdReusedError extends PaymentBillError {
  readonly code = 'order-id-reused';
  constructor(
    shop: string,
    orderId: string,
    /** When a bill of the earlier order was created, or when that order was cancelled. */
    readonly knownAt: Date,
    /** When this order was made: `orderedAt` of the request. */
    readonly orderedAt: Date,
  ) {
    super(
      shop,
      orderId,
      `the ledger already has an order with this id from ${knownAt.toISOString()}, before this order was placed ` +
        `(${orderedAt.toISOString()}). Order ids must never be reused: if numbering has restarted, add a prefix that ` +
        'was not used before. If it is the same order, compare the clocks of what sets orderedAt and of the database.',
    );
  }
}

/** What a payer is asked to pay. */
export interface PaymentBillTerms {
  readonly amount: string;
  readonly currency: string;
  readonly payerPaysCommission: boolean;
}

/** The order has an open bill that differs in amount, in currency or in who pays the commission. */
export class PaymentBillMismatchError extends PaymentBillError {
  readonly code = 'bill-mismatch';
  constructor(
    shop: string,
    orderId: string,
    readonly open: PaymentBillTerms,
    readonly asked: PaymentBillTerms,
  ) {
    super(
      shop,
      orderId,
      `an open bill asks for ${shownTerms(open)}, not ${shownTerms(asked)}. ` +
        'Pass { newAttempt: true } to create another bill; the open one can still be paid.',
    );
  }
}

function shownTerms({ amount, currency, payerPaysCommission }: PaymentBillTerms): string {
  return `${amount} ${currency}${payerPaysCommission ? ' and the commission' : ''}`;
}

/**
 * Nobody knows whether the service made a bill: the request may have reached the service, but no answer was understood. The
 * intent is kept as `UNKNOWN`; calling `createBill` again makes a new attempt.
 */
export class PaymentUnknownOutcomeError extends PaymentBillError {
  readonly code = 'unknown-outcome';
  constructor(
    shop: string,
    orderId: string,
    /** Id of the stored intent; sent as `custom` if the shop gave none. */
    readonly intentId: string,
    cause: PaymentServiceError,
    /** The service's bill id, if the service sent one that could not be kept. */
    readonly billId?: string,
  ) {
    super(
      shop,
      orderId,
      `whether it was created is unknown (intent ${intentId}). Look it up at the service before asking the payer to pay again, ` +
        'or call createBill again for a new attempt.',
      { cause },
    );
  }
}

/**
 * The service created the bill, but the database has not stored it yet. This instance retries until it succeeds or
 * shuts down; on shutdown it logs what is left. Calling `createBill` again on this instance returns the bill or throws
 * this error again. Other instances throw `PaymentCreationInProgressError` until the intent's lease
 * expires.
 */
export class PaymentBillNotStoredError extends PaymentBillError {
  readonly code = 'bill-not-stored';
  constructor(
    shop: string,
    orderId: string,
    /** Id of the stored intent; sent as `custom` if the shop gave none. */
    readonly intentId: string,
    /** The service's bill id. */
    readonly billId: string,
  ) {
    super(
      shop,
      orderId,
      `the service created bill ${billId} (intent ${intentId}), but it is not stored yet; the module is still trying to store it. ` +
        'Call createBill again in a few seconds; it returns this bill and creates no other.',
    );
  }
}

/** The application is shutting down and starts no new creations. */
export class PaymentApplicationStoppingError extends PaymentBillError {
  readonly code = 'application-stopping';
  constructor(shop: string, orderId: string) {
    super(shop, orderId, 'the application is shutting down. Call again on another instance.');
  }
}

/** The bill exists and is tracked, but neither the service nor the import gave an address to send the payer to. */
export class PaymentBillAddressError extends PaymentBillError {
  readonly code = 'bill-address';
  constructor(
    shop: string,
    orderId: string,
    /** The service's bill id. */
    readonly billId: string,
  ) {
    super(
      shop,
      orderId,
      `bill ${billId} exists at the service, but no http or https address of its payment page is known. ` +
        'Look up the bill at the service, or pass { newAttempt: true } to create another one.',
    );
  }
}
