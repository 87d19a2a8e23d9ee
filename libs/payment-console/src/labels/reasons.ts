import type { RecordedReview } from 'nestjs-payment-acceptance/operations';

/** What a review is about, and what to do about it. The same table is in docs/events.md. */
export interface Reason {
  /** What the service shows. */
  readonly shows: string;
  readonly advice: string;
}

const REASONS: Readonly<Record<string, Reason>> = {
  underpaid: {
    shows: 'A successful payment of less than the bill.',
    advice: 'Accept it where it is enough for you; or return it at the service, then dismiss.',
  },
  overpaid: {
    shows: 'More was paid than the bill asks for, and the payer does not pay the commission. The order is paid.',
    advice: 'Return the rest at the service, then accept or dismiss: both only close the review.',
  },
  'wrong-currency': {
    shows: "A successful payment in another currency than the bill's.",
    advice: 'Accept it with the amount that counts; or return it at the service, then dismiss.',
  },
  'amount-missing': {
    shows: 'A successful payment without a usable amount.',
    advice: 'Look the payment up at the service. Accept it with its amount, or dismiss.',
  },
  'amount-not-positive': {
    shows: 'A successful payment of nothing, or of less than nothing.',
    advice: 'Look the payment up at the service. Accept it with its amount, or dismiss.',
  },
  'second-payment': {
    shows: 'A second successful payment of an order that was paid already.',
    advice: 'Return one of the two at the service, then dismiss.',
  },
  'order-cancelled': {
    shows: 'A successful payment of an order that the shop had cancelled.',
    advice: 'Return it at the service, then dismiss. Or accept it, and deliver after all.',
  },
  'payment-changed': {
    shows: 'A successful payment that now shows something else than before. Nothing was taken back.',
    advice:
      'Look the payment up at the service. Accept it only where it waited for you before and the money is there; ' +
      'else dismiss. What your books need is yours to decide.',
  },
  'payment-moved': {
    shows: 'A payment that stands under another bill than before.',
    advice: 'Ask the service which bill it belongs to, then dismiss.',
  },
  'foreign-bill': {
    shows: 'A payment that the service lists for this bill, and says belongs to another.',
    advice:
      'Where that is a bill of yours, dismiss, and check that bill. Else ask the service which bill it belongs to, and ' +
      'accept it only where the money is for this order.',
  },
  'too-many-payments': {
    shows: 'The service refuses to list the payments of this bill: there are too many.',
    advice: 'Look the bill up at the service. Accept the payment that paid it by its id and amount, or dismiss.',
  },
  'unknown-status': {
    shows: "A payment with a status that is not documented, at the end of the bill's time.",
    advice: 'Ask the service what became of it. Accept it if the money arrived, else dismiss.',
  },
  unfinished: {
    shows: "A payment that neither succeeded nor failed to the end of the bill's time.",
    advice: 'Ask the service what became of it. Accept it if the money arrived, else dismiss.',
  },
  'unreadable-payment': {
    shows: 'The list of this bill has an entry that cannot be read. Whatever could be read counts.',
    advice: 'Look the bill up at the service. Accept a payment that is missing here by its id and amount, or dismiss.',
  },
  uncheckable: {
    shows: 'The service gave no answer about this bill to the end of its time.',
    advice:
      "The bill's last error says why. Look the bill up at the service; accept the payment that paid it, or dismiss.",
  },
};

/** What to do about a review, given what is known of its payment now. */
export function adviceOn(review: RecordedReview): string {
  const { reason, succeeded } = review;
  if (succeeded && reason === 'payment-changed') {
    return 'Look the payment up at the service. It counts already, and what your books need is yours to decide; then dismiss.';
  }
  return hasFailed(review)
    ? 'The payment has failed, as far as the service said last, and cannot be accepted: dismiss.'
    : reasonOf(reason).advice;
}

/** Whether the payment does not count, and is known to have failed. */
export function hasFailed({ succeeded, ledgerStatus, detail, newest }: RecordedReview): boolean {
  return !succeeded && [ledgerStatus, detail.listed?.status, newest?.listed?.status].includes('FAIL');
}

/** A custom judge may have its own reasons. */
export function reasonOf(reason: string): Reason {
  const known = Object.hasOwn(REASONS, reason) ? REASONS[reason] : undefined;
  return (
    known ?? {
      shows: 'Your own judge wants a person to look at this payment.',
      advice: 'Accept it where it is to count, else dismiss.',
    }
  );
}
