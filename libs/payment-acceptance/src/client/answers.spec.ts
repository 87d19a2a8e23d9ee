import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { SEED } from '../../../../test/support/seed.js';
import {
  AnswerProblem,
  isSuccess,
  nextPage,
  parseAnswer,
  readCreatedBill,
  readMessage,
  readPayments,
} from './answers.js';

/** Reads the payments of an answer written as text, so that numbers stay as they are. */
const payments = (json: string, zone = 'UTC') => readPayments(parseAnswer(`{"data":[${json}],"success":true}`)!, zone);
const payment = (more: string) => payments(`{"id":"p-1","status":"SUCCESS"${more && `,${more}`}}`)[0]!;

describe('the field success', () => {
  test.each(['true', '"true"', '"True"', '1', '"1"'])('an answer with success %s is a success', (text) => {
    expect(isSuccess(parseAnswer(`{"success":${text}}`)!)).toBe(true);
  });

  test.each(['false', '"false"', '0', '"0"', 'null', '"yes"', '[]', '{}', '"true "', '"untrue"', '[true]'])(
    'an answer with success %s is not a success',
    (text) => {
      expect(isSuccess(parseAnswer(`{"success":${text}}`)!)).toBe(false);
    },
  );

  test('an answer without success, or with an inherited one, is not a success', () => {
    expect(isSuccess(parseAnswer('{}')!)).toBe(false);
    expect(isSuccess(parseAnswer('{"__proto__":{"success":true}}')!)).toBe(false);
  });
});

test.each(['', 'null', '[]', '"text"', '7', '{', '<html></html>', '{"a":1}{"b":2}', '{"data":[1,]}'])(
  'the text %j is not an answer of the service',
  (text) => {
    expect(parseAnswer(text)).toBeUndefined();
  },
);

test('a byte order mark before an answer is skipped, and one inside it is text', () => {
  expect(parseAnswer('\uFEFF{"success":true}')).toEqual({ success: true });
  expect(parseAnswer('{"a":"x\uFEFF"}')).toEqual({ a: 'x\uFEFF' });
});

describe('amounts', () => {
  test.each([
    ['100.00', '100.00'],
    ['12345678.90', '12345678.90'],
    ['100', '100.00'],
    ['0.1', '0.10'],
    ['1.0005E+02', '100.05'],
    ['"100.05"', '100.05'],
    ['" 100.05 "', '100.05'],
    ['100.049999999999999999', null],
    ['100000000.00', null],
    ['"1,5"', null],
    ['null', null],
    ['true', null],
    ['{}', null],
  ])('the amount %s of a payment is read as %j', (text, amount) => {
    expect(payment(`"amount":${text},"amount_received":${text},"commission":${text}`)).toMatchObject({
      amount,
      amountReceived: amount,
      commission: amount,
    });
  });
});

describe('a payment', () => {
  test.each([
    [{ success: true }, 'data is not a list'],
    [{ data: { first: {} } }, 'data is not a list'],
    [{ data: { 0: { id: 'p-1' }, a1: {} } }, 'data is not a list'],
    [{ data: { 0: { id: 'p-1' }, '1a': {} } }, 'data is not a list'],
    [{ data: { first: { id: 'p-1' } } }, 'data is not a list'],
    [{ data: [{ id: 'p-1' }, '7'] }, 'data[1] is not an object'],
    [{ data: [[]] }, 'data[0] is not an object'],
    [{ data: [{ id: 'p-1' }, { status: 'NEW' }] }, 'data[1].id is missing'],
    [{ data: [{ id: 'p-1', bill_id: ' b-2 ' }] }, 'data[0].bill_id is not an id'],
    [{ data: [{ id: 'p-1', bill_id: { id: 'b-2' } }] }, 'data[0].bill_id is not an id'],
  ])('payments cannot be read from %j, and the problem says where', (answer, problem) => {
    expect(() => readPayments(answer, 'UTC')).toThrow(new AnswerProblem(problem));
  });

  test('a list of payments that PHP has filtered and written as an object is read', () => {
    expect(readPayments({ data: { 1: { id: 'p-1' }, 30: { id: 'p-2' } } }, 'UTC')).toMatchObject([
      { paymentId: 'p-1' },
      { paymentId: 'p-2' },
    ]);
  });

  test.each(['!', '~', 'x'.repeat(128)])('the payment id %.40j is accepted', (id) => {
    expect(readPayments({ data: [{ id }] }, 'UTC')[0]!.paymentId).toBe(id);
  });

  test.each(['', 'a b', 'p-1\n', '\x7f', 'п-1', 'x'.repeat(129), null, true])(
    'the payment id %.40j is refused',
    (id) => {
      expect(() => readPayments({ data: [{ id }] }, 'UTC')).toThrow(AnswerProblem);
    },
  );

  test('a payment whose status is not text has the status UNKNOWN', () => {
    expect(payments('{"id":"p-1","status":null}')[0]).toMatchObject({ status: 'UNKNOWN', statusText: null });
  });

  test.each(['NEW', 'PROCESS', 'SUCCESS', 'FAIL'])(
    'the payment status %s is read in any case and with spaces around it',
    (status) => {
      for (const text of [status, status.toLowerCase(), ` ${status[0]}${status.slice(1).toLowerCase()} `]) {
        expect(payments(JSON.stringify({ id: 'p-1', status: text }))[0]!.status).toBe(status);
      }
    },
  );

  test.each(['SUCCEEDED', 'REFUNDED', 'UNDERPAID', '', 'SUC CESS', 'ＳＵＣＣＥＳＳ'])(
    'the payment status %j is read as UNKNOWN',
    (status) => {
      expect(payments(`{"id":"p-1","status":"${status}"}`)[0]!.status).toBe('UNKNOWN');
    },
  );

  test('a numeric payment id of any length is read digit by digit', () => {
    expect(payments('{"id":12345678901234567890,"bill_id":7,"status":"NEW"}')[0]).toMatchObject({
      paymentId: '12345678901234567890',
      billId: '7',
    });
  });

  test.each([
    ['411111******1111', '411111******1111'],
    ['4111111111111111', '411111******1111'],
    ['4111 1111 1111 1112', '411111******1112'],
    ['4111.1111.1111.1112', '411111******1112'],
    ['4111\u00a01111\u00a01111\u00a01112', '411111******1112'],
    ['4111 **** **** 1112', '4111 **** **** 1112'],
    ['4111 \u2013 1111 \u2013 1111 \u2013 1112', '411111******1112'],
    ['4111 -- 1111 -- 1111 -- 1112', '4111 -- 1111 -- 1111 -- 1112'],
    ['4111x1111x1111x1112', '4111x1111x1111x1112'],
    ['411111111112', '411111******1112'],
    ['41111111112', '41111111112'],
  ])('the card %s of a payment is kept as %s', (card, kept) => {
    expect(payment(`"from_card":"${card}"`).fromCard).toBe(kept);
  });

  test('a card number is masked in whatever text of a payment it stands', () => {
    const card = '4111111111111111';
    const item = {
      status: `HOLD ${card}`,
      currency_in: card,
      created_at: `${card} paid`,
      from_card: '４１１１１１１１１１１１１１１１',
    };
    expect(JSON.stringify(payments(JSON.stringify({ id: 'p-1', ...item })))).not.toMatch(/\d{12}|４/);
  });

  test('texts of a payment are cut to the length of their columns', () => {
    const text = 'x'.repeat(100);
    expect(payment(`"currency_in":"${text}","created_at":"${text}"`)).toMatchObject({
      currency: 'x'.repeat(16),
      createdAtText: 'x'.repeat(64),
    });
  });

  test('a currency is cut without halving a character', () => {
    expect(payment(`"currency_in":"${'x'.repeat(15)}💳"`).currency).toBe(`${'x'.repeat(15)}\ufffd`);
  });

  test('null, empty and absent fields of a payment are read as absent', () => {
    const absent = { amount: null, currency: null, fromCard: null, createdAtText: null, createdAt: null, billId: null };
    expect(payment('')).toMatchObject(absent);
    for (const value of ['null', '""']) {
      const fields = ['amount', 'currency_in', 'from_card', 'created_at', 'bill_id'];
      expect(payment(fields.map((field) => `"${field}":${value}`).join())).toMatchObject(absent);
    }
  });
});

describe('created_at', () => {
  test.each([
    ['2026-07-01 12:00:00', 'UTC', '2026-07-01T12:00:00.000Z'],
    ['2026-07-01 12:00:00', '+03:00', '2026-07-01T09:00:00.000Z'],
    ['2026-07-01 12:00:00', 'Europe/Moscow', '2026-07-01T09:00:00.000Z'],
    ['2026-07-01 12:00:00', 'Europe/Berlin', '2026-07-01T10:00:00.000Z'],
    ['2026-12-01 12:00:00', 'Europe/Berlin', '2026-12-01T11:00:00.000Z'],
    ['2026-03-29 01:59:59', 'Europe/Berlin', '2026-03-29T00:59:59.000Z'],
    ['2026-03-29 03:00:00', 'Europe/Berlin', '2026-03-29T01:00:00.000Z'],
    ['2026-10-25 04:00:00', 'Europe/Berlin', '2026-10-25T03:00:00.000Z'],
  ])('created_at %s in the time zone %s is the instant %s', (text, zone, instant) => {
    const [read] = payments(`{"id":"p-1","status":"NEW","created_at":"${text}"}`, zone);
    expect([read!.createdAtText, read!.createdAt?.toISOString()]).toEqual([text, instant]);
  });

  test.each([
    '2026-13-01 12:00:00', '2026-07-01T12:00:00', '01.07.2026', 'now', '2026-07-01 25:00:00', '2026-07-01 12:00:00Z',
    '+002026-07-01 12:00:00', '2026-07-01 12:00:00.5',
  ])('created_at %s is kept as text without an instant', (text) => {
    expect(payment(`"created_at":"${text}"`)).toMatchObject({ createdAtText: text, createdAt: null });
  }); // prettier-ignore
});

describe('a created bill', () => {
  test('a created bill needs its id and nothing else', () => {
    expect(readCreatedBill({ bill_id: 'b-1' })).toEqual({ billId: 'b-1', linkUrl: null, linkPageUrl: null });
    for (const bill_id of [undefined, null, '', ' ', 'a b', 'x'.repeat(129), {}, ['b-1']]) {
      expect(() => readCreatedBill({ bill_id })).toThrow(new AnswerProblem('bill_id is missing'));
    }
  });

  test.each([
    'javascript:alert(1)',
    'data:text/html,x',
    '/transfer/b-1',
    'ftp://pay.example',
    '',
    7,
    `https://a/${'x'.repeat(8192)}`,
  ])('a created bill with the address %.40j has no payment page', (address) => {
    const bill = readCreatedBill({ bill_id: 'b-1', link_url: address, link_page_url: address });
    expect(bill).toEqual({ billId: 'b-1', linkUrl: null, linkPageUrl: null });
  });

  test.each([
    ['https://pay.example/transfer/b-1?sig=%2F', 'https://pay.example/transfer/b-1?sig=%2F'],
    ['ht\ntps://pay.example/\r\nSet-Cookie: a=b', 'https://pay.example/Set-Cookie:%20a=b'],
    ['https://pay.example/\0b', 'https://pay.example/%00b'],
    ['https://платёж.example/п', 'https://xn--80amnpr4g.example/%D0%BF'],
  ])('the payment page %j of a bill is returned as a browser reads it, safe for a header', (address, read) => {
    expect(readCreatedBill({ bill_id: 'b-1', link_page_url: address }).linkPageUrl).toBe(read);
  });
});

test(`no answer of the service causes an error other than AnswerProblem (TEST_SEED=${SEED})`, () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.json(),
        fc.string(),
        fc.json().map((json) => `{"data":[${json}],"bill_id":${json}}`),
      ),
      (text) => {
        readMessage(text);
        const fields = parseAnswer(text);
        for (const read of [() => readCreatedBill(fields ?? {}), () => readPayments(fields ?? {}, 'Europe/Berlin')]) {
          try {
            read();
          } catch (error) {
            expect(error).toBeInstanceOf(AnswerProblem);
          }
        }
      },
    ),
    { numRuns: 500 },
  );
});

describe('the next page of a list', () => {
  const PAGE = new URL('https://api.example/list?id=b-1&limit=5');
  const next = (fields: object) => nextPage({ data: [], ...fields }, PAGE);
  const MORE = ['has_more', 'hasMore', 'has_next', 'hasNext', 'has_next_page', 'hasNextPage'];

  test.each(MORE)('%s says whether there is one, whatever else is said', (name) => {
    for (const yes of [true, 'true', 'TRUE', 1, '1']) expect([yes, next({ [name]: yes })]).toEqual([yes, null]);
    for (const no of [false, 'false', 0, '0'])
      expect([no, next({ [name]: no, next_cursor: 'c', next: '?page=2' })]).toEqual([no, undefined]);
    for (const other of ['untrue', 'truer', '10', 'falsehood', null, {}]) {
      expect([other, next({ [name]: other })]).toEqual([other, undefined]);
      expect([other, next({ [name]: other, next_cursor: 'c' })]).toEqual([other, 'limit=5&cursor=c']);
    }
  });

  test.each(['next_cursor', 'nextCursor'])('%s leads to it', (name) => {
    expect(next({ [name]: 'c 1', next: '?page=2' })).toBe('limit=5&cursor=c+1');
    expect(next({ [name]: '00' })).toBe('limit=5&cursor=00');
    for (const none of ['', '0', null, 5, ['c']]) expect([none, next({ [name]: none })]).toEqual([none, undefined]);
  });

  test.each(['next_page_url', 'next_url', 'next'])('%s leads to it, on the same host and path only', (name) => {
    for (const address of ['https://api.example/list?page=2&id=x', '?page=2', { href: '/list?page=2' }])
      expect([address, next({ [name]: address })]).toEqual([address, 'page=2']);
    for (const other of [
      'https://other.example/list?page=2',
      '/other?page=2',
      'https://[',
      'https://api.example:1/list',
    ])
      expect([other, next({ [name]: other })]).toEqual([other, null]);
    for (const none of ['', null, {}, 2]) expect([none, next({ [name]: none })]).toEqual([none, undefined]);
  });

  test.each(['next_page_token', 'nextPageToken'])('%s says that there is one, to which nothing leads', (name) => {
    expect([next({ [name]: 't' }), next({ [name]: '' }), next({ [name]: 7 })]).toEqual([null, undefined, undefined]);
  });

  test.each(['last_page', 'total_pages', 'totalPages', 'page_count', 'pageCount', 'pages'])(
    'the page number and %s say whether there is one',
    (name) => {
      for (const number of ['current_page', 'page']) {
        expect(next({ [number]: 1, [name]: 2 })).toBeNull();
        expect(next({ [number]: '1', [name]: '2' })).toBeNull();
        expect(next({ [number]: 2, [name]: 2 })).toBeUndefined();
        expect(next({ [number]: 0, [name]: 1 })).toBeUndefined();
      }
      expect([next({ [name]: 2 }), next({ [name]: 1 }), next({ [name]: 'many' })]).toEqual([
        null,
        undefined,
        undefined,
      ]);
    },
  );

  test.each(['total', 'total_count', 'totalCount'])('%s and the size of a page say whether there is one', (name) => {
    for (const size of ['per_page', 'perPage', 'page_size', 'pageSize']) {
      expect(next({ [name]: 6, [size]: 5 })).toBeNull();
      expect(next({ [name]: 5, [size]: 5 })).toBeUndefined();
      expect(next({ [name]: 11, [size]: 5, page: 2 })).toBeNull();
      expect(next({ [name]: 10, [size]: 5, page: 2 })).toBeUndefined();
      for (const offset of ['offset', 'skip']) {
        expect(next({ [name]: 11, [size]: 5, [offset]: 5 })).toBeNull();
        expect(next({ [name]: 10, [size]: 5, [offset]: 5, page: 1 })).toBeUndefined();
      }
    }
    expect(next({ [name]: 11, limit: 5, offset: 5 })).toBeNull();
    expect(next({ [name]: 1.5, per_page: 1 })).toBeUndefined();
    // The whole list is there, whatever a page would have.
    expect(next({ [name]: 2, per_page: 1, data: [1, 2] })).toBeUndefined();
    expect(next({ [name]: 2, per_page: 1, data: [1] })).toBeNull();
  });

  test('there is none after a list that is null, whatever the total is', () => {
    expect(nextPage({ data: null, total: 0, per_page: 5 }, PAGE)).toBeUndefined();
    expect(readPayments({ data: null }, 'UTC')).toEqual([]);
  });

  test.each(['meta', 'pagination', 'paging', 'links', '_links'])('it is also looked for in %s', (place) => {
    expect(next({ [place]: { has_more: true } })).toBeNull();
    expect(next({ [place]: { meta: { links: { has_more: true } } } })).toBeNull();
    expect(next({ [place]: { meta: { links: { meta: { has_more: true } } } } })).toBeUndefined();
    expect(next({ has_more: false, [place]: { has_more: true } })).toBeUndefined();
    expect(next({ has_more: null, [place]: { has_more: true } })).toBeNull();
    expect(next({ [place]: 'none' })).toBeUndefined();
  });
});
