import type { Duration } from '../common/time.js';
import type { PaymentStatus } from '../model/entities.js';

/** What happens to a payment with a test card. */
export interface TestCard {
  number: string;
  /** In words, for the payer's page and the documentation. */
  does: string;
  /** The statuses after NEW, each with its delay after the one before. Default: the processing time. */
  steps: { status: PaymentStatus; after?: Duration }[];
  /** Pays an amount other than the one due. */
  pays?: 'half' | 'oneMore';
}

const SUCCESS: TestCard['steps'] = [{ status: 'PROCESS' }, { status: 'SUCCESS' }];

export const TEST_CARDS: readonly TestCard[] = [
  { number: '4111111111111111', does: 'succeeds', steps: SUCCESS },
  { number: '4000000000000002', does: 'fails', steps: [{ status: 'PROCESS' }, { status: 'FAIL' }] },
  {
    number: '4000000000000077',
    does: 'stays in PROCESS for a minute, then succeeds',
    steps: [{ status: 'PROCESS' }, { status: 'SUCCESS', after: '1m' }],
  },
  {
    number: '4000000000000119',
    does: 'stays in PROCESS for a minute, then fails',
    steps: [{ status: 'PROCESS' }, { status: 'FAIL', after: '1m' }],
  },
  {
    number: '4000000000003220',
    does: 'stays in PROCESS until the control interface completes it',
    steps: [{ status: 'PROCESS' }],
  },
  { number: '4000000000000069', does: 'stays in NEW until the control interface completes it', steps: [] },
  {
    number: '4000000000000341',
    does: 'fails, and a minute later the same payment succeeds after all',
    steps: [{ status: 'PROCESS' }, { status: 'FAIL' }, { status: 'SUCCESS', after: '1m' }],
  },
  { number: '4000000000000259', does: 'succeeds, but pays half of what is due', steps: SUCCESS, pays: 'half' },
  { number: '4000000000003063', does: 'succeeds, but pays 1.00 more than is due', steps: SUCCESS, pays: 'oneMore' },
];

const OTHER_CARD: Omit<TestCard, 'number'> = { does: 'succeeds, as any other valid number does', steps: SUCCESS };

export function behaviourOf(number: string): Omit<TestCard, 'number'> {
  return TEST_CARDS.find((card) => card.number === number) ?? OTHER_CARD;
}

/** `undefined` unless the text has 13 to 19 digits with the right check digit. */
export function cardDigits(text: string): string | undefined {
  const digits = text.replace(/[ -]/g, '');
  if (!/^\d{13,19}$/.test(digits)) return undefined;
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits.charAt(digits.length - 1 - index));
    sum += index % 2 === 0 ? digit : digit < 5 ? digit * 2 : digit * 2 - 9;
  }
  return sum % 10 === 0 ? digits : undefined;
}

/** First six digits, six asterisks, last four (2.3), whatever the length. */
export function maskCard(digits: string): string {
  return `${digits.slice(0, 6)}******${digits.slice(-4)}`;
}

/** `4111111111111111` → `4111 1111 1111 1111`. */
export function spacedCard(digits: string): string {
  return digits.replace(/(\d{4})(?=\d)/g, '$1 ');
}
