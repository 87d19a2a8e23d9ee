import type { RecordedReview } from 'nestjs-payment-acceptance/operations';

/** The same table is in docs/events.md. */
export interface Reason {
  /** What the service shows. */
  readonly shows: string;
  readonly advice: string;
}

const REASONS: Readonly<Record<string, Reason>> = {
  underpaid: {
    shows: 'A successful payment of less than the amount billed.',
    advice: 'Accept it if it is enough for you, or refund it at the service and then dismiss.',
  },
  overpaid: {
    shows: 'More was paid than was billed, and the payer does not pay the commission. The order is paid.',
    advice: 'Refund the difference at the service, then accept or dismiss: both only close the review.',
  },
  'wrong-currency': {
    shows: "A successful payment in a currency other than the bill's.",
    advice: 'Accept it with the amount that counts, or refund it at the service and then dismiss.',
  },
  'amount-missing': {
    shows: 'A successful payment without a usable amount.',
    advice: 'Look up the payment at the service. Accept it with its amount, or dismiss.',
  },
  'amount-not-positive': {
    shows: 'A successful payment of zero or a negative amount.',
    advice: 'Look up the payment at the service. Accept it with its amount, or dismiss.',
  },
  'second-payment': {
    shows: 'A second successful payment of an order that was already paid.',
    advice: 'Refund one of the two at the service, then dismiss.',
  },
  'order-cancelled': {
    shows: 'A successful payment of an order that the shop had cancelled.',
    advice: 'Refund it at the service, then dismiss. Or accept it and fulfil the order after all.',
  },
  'payment-changed': {
    shows: 'A successful payment that now differs from what was shown before. Nothing was reversed.',
    advice:
      'Look up the payment at the service. Accept it only if it was already awaiting you and the money is there; ' +
      'otherwise dismiss. Any bookkeeping correction is up to you.',
  },
  'payment-moved': {
    shows: 'A payment now listed under a different bill than before.',
    advice: 'Ask the service which bill it belongs to, then dismiss.',
  },
  'foreign-bill': {
    shows: 'A payment that the service lists for this bill, but says belongs to another.',
    advice:
      'If that is one of your bills, dismiss and check that bill. Otherwise ask the service which bill it belongs to, and ' +
      'accept it only if the money is for this order.',
  },
  'too-many-payments': {
    shows: 'The service refuses to list the payments of this bill: there are too many.',
    advice:
      'Look up the bill at the service. If a payment paid it, accept that payment: enter its id and amount. Otherwise dismiss.',
  },
  'unknown-status': {
    shows: "A payment with an undocumented status when the bill's time ran out.",
    advice: 'Ask the service what became of it. Accept it if the money arrived, otherwise dismiss.',
  },
  unfinished: {
    shows: "A payment that neither succeeded nor failed before the bill's time ran out.",
    advice: 'Ask the service what became of it. Accept it if the money arrived, otherwise dismiss.',
  },
  'unreadable-payment': {
    shows: 'The list of this bill has an unreadable entry. Everything readable counts.',
    advice:
      'Look up the bill at the service. If a payment is missing here, accept it: enter its id and amount. Otherwise dismiss.',
  },
  uncheckable: {
    shows: 'The service gave no answer about this bill before its time ran out.',
    advice:
      "The bill's last error says why. Look up the bill at the service; accept the payment that paid it, or dismiss.",
  },
};

/** Takes account of what is known of the review's payment now. */
export function adviceOn(review: RecordedReview): string {
  const { reason, succeeded, paymentId, orderPaymentId, orderCancelledAt } = review;
  if (succeeded && reason === 'payment-changed') {
    return 'Look up the payment at the service. It already counts; any bookkeeping correction is up to you. Then dismiss.';
  }
  if (hasFailed(review)) return 'The service last reported the payment as failed, so it cannot be accepted: dismiss.';
  if (!succeeded && paymentId !== null && orderPaymentId !== null) {
    return 'The order is already paid by another payment. Refund this one at the service, then dismiss: accepted, it is a second payment.';
  }
  if (!succeeded && orderCancelledAt !== null) return reasonOf('order-cancelled').advice;
  return reasonOf(reason).advice;
}

/** Whether the payment does not count, and is known to have failed. */
export function hasFailed({ succeeded, ledgerStatus, detail, newest }: RecordedReview): boolean {
  return !succeeded && [ledgerStatus, detail.listed?.status, newest?.listed?.status].includes('FAIL');
}

/** A custom judge may have its own reasons. */
export function reasonOf(reason: string): Reason {
  const builtIn = Object.hasOwn(REASONS, reason) ? REASONS[reason] : undefined;
  return (
    builtIn ?? {
      shows: 'A rule of your application (the option `judge`) wants a person to review this payment.',
      advice: 'Accept it if it should count, otherwise dismiss.',
    }
  );
}
