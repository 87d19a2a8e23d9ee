import type { AmountEvidence, PostbackEvidence } from '../storage/evidence.store.js';
import { judge, type Expectation, type Finding } from './findings.js';

const POSTBACK_DIGEST: Expectation = {
  name: 'postback-digest',
  section: '5.6',
  basis: 'assumed',
  expectation:
    "A postback's SignatureValue is made by the redirect's formula. Only then may requirePostbackDigest be set.",
};
const POSTBACK_FIELDS: Expectation = {
  name: 'postback-fields',
  section: '2.5',
  basis: 'documented',
  expectation: 'OutSum and InvId of a postback are the amount and the order of the bill that TrsId names.',
};
const POSTBACK_CUSTOM: Expectation = {
  name: 'postback-custom',
  section: '2.5',
  basis: 'documented',
  expectation: 'The custom that the shop gave comes back in the postback.',
};
const AMOUNTS: Expectation = {
  name: 'amount-relation',
  section: '2.3',
  basis: 'assumed',
  expectation: 'The amount of a payment is what was billed, or more where the payer pays the commission.',
};

/** Judges expectations by the stored postbacks and payments, without calling the service. */
export function evidenceFindings(postbacks: PostbackEvidence, amounts: AmountEvidence): Finding[] {
  const { confirmed, digestMatches, digestAbsent, amountMatches, orderMatches, customGiven, customMatches } = postbacks;
  const none = 'no postback has been confirmed yet';
  const { asBilled, less, moreWithCommission, moreOtherwise } = amounts;
  const payments = asBilled + less + moreWithCommission + moreOtherwise;
  return [
    judge(
      POSTBACK_DIGEST,
      confirmed === 0 ? undefined : digestMatches === confirmed,
      confirmed === 0
        ? none
        : `of ${confirmed} confirmed postbacks ${digestMatches} match, ${digestAbsent} have no digest`,
    ),
    judge(
      POSTBACK_FIELDS,
      confirmed === 0 ? undefined : amountMatches === confirmed && orderMatches === confirmed,
      confirmed === 0 ? none : `of ${confirmed} amounts ${amountMatches} match, of as many orders ${orderMatches}`,
    ),
    judge(
      POSTBACK_CUSTOM,
      customGiven === 0 ? undefined : customMatches === customGiven,
      customGiven === 0
        ? 'no confirmed postback is of a bill with a custom of the shop'
        : `${customMatches} of ${customGiven} came back as they were given`,
    ),
    judge(
      AMOUNTS,
      payments === 0 ? undefined : less === 0 && moreOtherwise === 0,
      payments === 0
        ? 'no payment has succeeded yet'
        : `${asBilled} as billed, ${moreWithCommission} more with commission, ${moreOtherwise} more without, ${less} less`,
    ),
  ];
}

/** Can only be observed by creating something at the service, or by being banned there: never probed. */
export const NOT_PROBEABLE: readonly Finding[] = (
  [
    ['creation-errors', '7', 'A 4xx answer to bill/create, other than 408, 425 and 429, means that no bill was made.'],
    [
      'creation-repeated',
      '4.1',
      'A repeated bill/create makes another bill: nothing in the request makes it idempotent.',
    ],
    [
      'postback-reply',
      '4.4',
      'A postback counts as delivered by HTTP 200, whatever the body; by anything else it is sent again.',
    ],
    ['rate-limit', '8.3', 'requestsPerSecond checks a second are allowed; 429 with Retry-After says where not.'],
    [
      'merchant-refused',
      '7',
      'A blocked or unknown merchant is answered 403 api:error.merchant_banned or merchant_not_found.',
    ],
    ['too-many-payments', '8.2', 'A bill with too many payments is answered 400 api:error.too_many_payments.'],
  ] as const
).map(([name, section, expectation]) => ({
  name,
  section,
  basis: name === 'merchant-refused' || name === 'too-many-payments' ? 'documented' : 'assumed',
  expectation,
  verdict: 'not-probeable',
  detail: 'it cannot be observed without creating something at the service',
}));
