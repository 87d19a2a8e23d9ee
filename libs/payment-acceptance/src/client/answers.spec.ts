import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { SEED } from '../../../../test/support/seed.js';
import { AnswerFlaw, isSuccess, parseAnswer, readCreatedBill, readMessage, readPayments } from './answers.js';

/** The payments of `{"data": [...]}`, written by hand so that numbers stay as they are. */
const payments = (json: string, zone = 'UTC') => readPayments(parseAnswer(`{"data":[${json}],"success":true}`)!, zone);
const payment = (more: string) => payments(`{"id":"p-1","status":"SUCCESS"${more && `,${more}`}}`)[0]!;

function flawOf(read: () => unknown): unknown {
  try {
    return read();
  } catch (flaw) {
    return flaw;
  }
}

describe('success', () => {
  test.each(['true', '"true"', '"True"', '1', '"1"'])('%s is a success', (text) => {
    expect(isSuccess(parseAnswer(`{"success":${text}}`)!)).toBe(true);
  });

  test.each(['false', '"false"', '0', '"0"', 'null', '"yes"', '[]', '{}', '"true "', '[true]'])(
    '%s is none',
    (text) => {
      expect(isSuccess(parseAnswer(`{"success":${text}}`)!)).toBe(false);
    },
  );

  test('nor is its absence, nor what is inherited', () => {
    expect(isSuccess(parseAnswer('{}')!)).toBe(false);
    expect(isSuccess(parseAnswer('{"__proto__":{"success":true}}')!)).toBe(false);
  });
});

test.each(['', 'null', '[]', '"text"', '7', '{', '<html></html>', '{"a":1}{"b":2}', '{"data":[1,]}'])(
  '%j is no answer',
  (text) => {
    expect(parseAnswer(text)).toBeUndefined();
  },
);

test('a byte order mark before an answer is passed over', () => {
  expect(parseAnswer('\uFEFF{"success":true}')).toEqual({ success: true });
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
  ])('%s is read as %j', (text, amount) => {
    expect(payment(`"amount":${text},"amount_received":${text},"commission":${text}`)).toMatchObject({
      amount,
      amountReceived: amount,
      commission: amount,
    });
  });
});

describe('a payment', () => {
  test('needs an id; without a status that is text it is of an unknown one', () => {
    expect(flawOf(() => payments('{"status":"NEW"}'))).toEqual(new AnswerFlaw('data[0].id is missing'));
    expect(payments('{"id":"p-1","status":null}')[0]).toMatchObject({ status: 'UNKNOWN', statusText: null });
    expect(() => payments('7')).toThrow(AnswerFlaw);
    expect(() => readPayments({ success: true }, 'UTC')).toThrow(AnswerFlaw);
    expect(() => readPayments({ data: {} }, 'UTC')).toThrow(AnswerFlaw);
  });

  test.each(['NEW', 'PROCESS', 'SUCCESS', 'FAIL'])('may be %s', (status) => {
    expect(payments(`{"id":"p-1","status":"${status}"}`)[0]!.status).toBe(status);
  });

  test.each(['success', 'REFUNDED', 'UNDERPAID', '', 'SUCCESS '])('of status %j is UNKNOWN', (status) => {
    expect(payments(`{"id":"p-1","status":"${status}"}`)[0]!.status).toBe('UNKNOWN');
  });

  test('may have a number for an id, of any length, digit by digit', () => {
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
  ])('of card %s keeps %s', (card, kept) => {
    expect(payment(`"from_card":"${card}"`).fromCard).toBe(kept);
  });

  test('cuts a currency where no character is halved', () => {
    expect(payment(`"currency_in":"${'x'.repeat(15)}💳"`).currency).toBe(`${'x'.repeat(15)}\ufffd`);
  });

  test('reads null and absent as absent', () => {
    const absent = { amount: null, currency: null, fromCard: null, createdAt: null, billId: null };
    expect(payment('')).toMatchObject(absent);
    expect(payment('"amount":null,"currency_in":null,"from_card":null,"created_at":null,"bill_id":null')).toMatchObject(
      absent,
    );
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
  ])('%s in %s is %s', (text, zone, instant) => {
    const [read] = payments(`{"id":"p-1","status":"NEW","created_at":"${text}"}`, zone);
    expect([read!.createdAtText, read!.createdAt?.toISOString()]).toEqual([text, instant]);
  });

  test.each(['2026-13-01 12:00:00', '2026-07-01T12:00:00', '01.07.2026', 'now', '2026-07-01 25:00:00'])(
    '%s is kept as text, and is no instant',
    (text) => {
      expect(payment(`"created_at":"${text}"`)).toMatchObject({ createdAtText: text, createdAt: null });
    },
  );
});

describe('a created bill', () => {
  test('needs its id and nothing else', () => {
    expect(readCreatedBill({ bill_id: 'b-1' })).toEqual({ billId: 'b-1', linkUrl: null, linkPageUrl: null });
    for (const bill_id of [undefined, null, '', ' ', 'a b', 'x'.repeat(129), {}, ['b-1']]) {
      expect(() => readCreatedBill({ bill_id })).toThrow(AnswerFlaw);
    }
  });

  test.each([
    'javascript:alert(1)',
    'data:text/html,x',
    '/transfer/b-1',
    'ftp://pay.example',
    '',
    7,
    `https://a/${'x'.repeat(2048)}`,
  ])('does not send the payer to %.40j', (address) => {
    const bill = readCreatedBill({ bill_id: 'b-1', link_url: address, link_page_url: address });
    expect(bill).toEqual({ billId: 'b-1', linkUrl: null, linkPageUrl: null });
  });

  test.each([
    ['https://pay.example/transfer/b-1?sig=%2F', 'https://pay.example/transfer/b-1?sig=%2F'],
    ['ht\ntps://pay.example/\r\nSet-Cookie: a=b', 'https://pay.example/Set-Cookie:%20a=b'],
    ['https://pay.example/\0b', 'https://pay.example/%00b'],
    ['https://платёж.example/п', 'https://xn--80amnpr4g.example/%D0%BF'],
  ])('gives the address %j as a browser reads it, fit for a header', (address, read) => {
    expect(readCreatedBill({ bill_id: 'b-1', link_page_url: address }).linkPageUrl).toBe(read);
  });
});

describe('the message of an error', () => {
  test.each([
    ['{"message":"api:error.bill_not_found","success":false}', 'api:error.bill_not_found'],
    ['{"message":"Unauthenticated."}', 'Unauthenticated.'],
    ['{"error":"api:error.merchant_banned"}', 'api:error.merchant_banned'],
    ['{"error":{"code":403,"status":"error","message":"api:error.bill_not_found"}}', 'api:error.bill_not_found'],
    ['{"errors":[{"code":"403","detail":"api:error.bill_not_found"}]}', 'api:error.bill_not_found'],
    ['{"error":403}', undefined],
    ['{"errors":["api:error.too_many_payments"]}', 'api:error.too_many_payments'],
    ['{"errors":{"amount":["The amount is wrong."]}}', 'The amount is wrong.'],
    ['{"message":"","errors":[{"detail":"x"}]}', 'x'],
    ['{"message":null}', undefined],
    ['{}', undefined],
    ['plain text', 'plain text'],
    ['<html><body><h1>502</h1> Bad\n Gateway</body></html>', '502 Bad Gateway'],
    ['', undefined],
    ['   ', undefined],
    ['[]', '[]'],
  ])('of %j is %j', (text, message) => {
    expect(readMessage(text)).toBe(message);
  });
});

test('what has to be hidden is gone before a message is cut', () => {
  const text = `${'x '.repeat(98)}token-0123456789`;
  expect(readMessage(text, (line) => line.replaceAll('token-0123456789', '[secret]'))).toMatch(/x \[sec$/);
});

test(`nothing that a service sends is an exception of another kind (TEST_SEED=${SEED})`, () => {
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
            expect(error).toBeInstanceOf(AnswerFlaw);
          }
        }
      },
    ),
    { numRuns: 500 },
  );
});
