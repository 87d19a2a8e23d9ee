import { describe, expect, test } from '@jest/globals';
import { shopOf } from '../../../../test/support/units.js';
import { prepareBill } from './bill-request.js';
import { PaymentInvalidBillRequestError } from './bill.errors.js';

const INTENT = '00000000-0000-4000-8000-000000000001';
const prepare = (more: object = {}, shop = shopOf()) =>
  prepareBill(shop, { orderId: 'A-1', amount: '100.05', ...more }, INTENT);

function problems(more: object): readonly string[] {
  try {
    prepare(more);
    return [];
  } catch (error) {
    if (error instanceof PaymentInvalidBillRequestError) return error.problems;
    throw error;
  }
}

test('a bill request needs only an order and an amount', () => {
  expect(prepare()).toEqual({
    amount: '100.05',
    orderId: 'A-1',
    type: 'normal',
    currency: 'RUB',
    custom: INTENT,
    payerPaysCommission: false,
    description: undefined,
    name: undefined,
  });
});

test('a bill request without a currency or commission takes those of the shop', () => {
  const shop = shopOf({ currency: 'EUR', payerPaysCommission: true });
  expect(prepare({}, shop)).toMatchObject({ currency: 'EUR', payerPaysCommission: true });
  expect(prepare({ currency: 'USD', payerPaysCommission: false }, shop)).toMatchObject({
    currency: 'USD',
    payerPaysCommission: false,
  });
});

test.each([['100', '100.00'], ['0.01', '0.01'], ['99999999.99', '99999999.99'], ['1e+06', '1000000.00'], ['+7.5', '7.50']])(
  'the amount %s goes out as %s',
  (amount, sent) => {
    expect(prepare({ amount }).amount).toBe(sent);
  },
); // prettier-ignore

test.each([
  '0',
  '0.00',
  '-0',
  '-1',
  '1.005',
  '100000000',
  '',
  ' 1',
  '1,5',
  'NaN',
  100.05,
  100,
  null,
  undefined,
  {},
  ['1'],
  5n,
])('a bill request with the amount %p is refused', (amount) => {
  expect(problems({ amount })).toEqual([expect.stringMatching(/^amount must be a decimal string above 0/)]);
});

describe('texts of a bill request', () => {
  test.each([
    ['name', 255],
    ['description', 1_000],
    ['custom', 2_000],
    ['type', 64],
  ])('%s must be well-formed text of at most %d characters, without NUL', (field, limit) => {
    expect(problems({ [field]: 'я'.repeat(limit) })).toEqual([]);
    for (const value of ['я'.repeat(limit + 1), `${'я'.repeat(limit - 1)}\n`, 'a\0b', '\ud800', 7, null, {}, ['a']]) {
      expect(problems({ [field]: value })[0]).toBe(
        `${field} must be a well-formed string of at most ${limit} characters, without NUL. A line break counts as two.`,
      );
    }
  });

  const NO_ORDER_IDS = [
    '',
    'two\nlines',
    'two\r\nlines',
    undefined,
    'я'.repeat(256),
    'a\0b',
    '\ud800',
    7,
    null,
    {},
    ['a'],
  ];
  test.each(NO_ORDER_IDS)('a bill request with the orderId %j is refused', (orderId) => {
    const sentence =
      'orderId must be a single-line string of 1 to 255 characters, in well-formed Unicode and without NUL characters.';
    expect(problems({ orderId })).toEqual([sentence]);
  });

  test('an orderId may have 255 characters', () => {
    expect(problems({ orderId: 'я'.repeat(255) })).toEqual([]);
  });

  test('line breaks in texts are sent as CRLF, as in a multipart form', () => {
    expect(prepare({ custom: 'a\nb\rc\r\nd', description: '\n' })).toMatchObject({
      custom: 'a\r\nb\r\nc\r\nd',
      description: '\r\n',
    });
  });

  test('an empty custom from the shop is sent empty', () => {
    expect(prepare({ custom: '' }).custom).toBe('');
  });
});

test.each([[['RUB']], [[['EUR']]]])('a currency that is no text is refused: %j', (currency) => {
  expect(problems({ currency: currency as unknown as string })).toEqual(['currency must be three capital letters.']);
});

test('a bad bill request reports all its problems at once, with the shop and the order', () => {
  const all = problems({ amount: '0', orderId: '', currency: 'rub', payerPaysCommission: 'yes', name: 7 });
  expect(all.map((problem) => problem.split(' ')[0])).toEqual([
    'amount',
    'orderId',
    'name',
    'currency',
    'payerPaysCommission',
  ]);
  expect(() => prepare({ amount: '0' })).toThrow(
    /^Bill of order "A-1" of shop "main": the request cannot be sent: amount/,
  );
});
