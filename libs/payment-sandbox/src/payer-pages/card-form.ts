import { cardDigits } from '../payments/test-cards.js';

export interface CardForm {
  card: string;
  expiry: string;
  cvc: string;
}

export type CardFormErrors = Partial<Record<keyof CardForm, string>>;

const always = (message: string) => ({ empty: message, wrong: message });

export const FIELD_MESSAGES: Readonly<Record<keyof CardForm, { empty: string; wrong: string }>> = {
  card: { empty: 'Enter the card number.', wrong: 'This is not a card number: check its digits.' },
  expiry: always('Enter month and year, such as 12/30.'),
  cvc: always('Enter the three or four digits from the card.'),
};

export function readCardForm(body: URLSearchParams): CardForm {
  const field = (name: keyof CardForm): string => (body.get(name) ?? '').trim().slice(0, 40);
  return { card: field('card'), expiry: field('expiry'), cvc: field('cvc') };
}

/**
 * Checks only for typing errors and an expired card.
 * @param now in milliseconds
 */
export function checkCardForm(form: CardForm, now: number): CardFormErrors {
  const errors: CardFormErrors = {};
  if (form.card === '') errors.card = FIELD_MESSAGES.card.empty;
  else if (!cardDigits(form.card)) errors.card = FIELD_MESSAGES.card.wrong;
  const expiry = /^(\d{1,2}) ?\/? ?(?:20)?(\d{2})$/.exec(form.expiry);
  const month = Number(expiry?.[1]);
  if (!expiry || month < 1 || month > 12) errors.expiry = FIELD_MESSAGES.expiry.wrong;
  // A card is valid until its month has ended everywhere: twelve hours after the month's end in UTC.
  else if (Date.UTC(2000 + Number(expiry[2]), month, 1, 12) <= now) errors.expiry = 'This card has expired.';
  if (!/^\d{3,4}$/.test(form.cvc)) errors.cvc = FIELD_MESSAGES.cvc.wrong;
  return errors;
}
