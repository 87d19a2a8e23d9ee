import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UsageError } from './arguments.js';
import { readStatement, STATEMENT_HEADER, type UnreadableLine } from './statement-file.js';

describe('a statement', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'payment-statement-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  async function read(content: string, zone = 'UTC') {
    const file = join(folder, 'statement.csv');
    writeFileSync(file, content);
    const unreadable: UnreadableLine[] = [];
    const payments = [];
    for await (const payment of readStatement(file, zone, (line) => unreadable.push(line))) payments.push(payment);
    return { payments, unreadable };
  }

  const LINE = 'P-1,B-1,SUCCESS,100.05,RUB,2026-11-21 12:00:00';
  const PAYMENT = {
    paymentId: 'P-1',
    billId: 'B-1',
    status: 'SUCCESS',
    amount: '100.05',
    currency: 'RUB',
    createdAt: new Date('2026-11-21T12:00:00Z'),
  };

  test.each([
    ['lines', `${STATEMENT_HEADER}\n${LINE}\n`],
    ['CRLF, without an end', `${STATEMENT_HEADER}\r\n${LINE}`],
    ['a byte order mark and an empty line', `\uFEFF${STATEMENT_HEADER}\n\n${LINE}\n`],
    ['quotes', `"payment_id",${STATEMENT_HEADER.slice(11)}\n"P-1",B-1,"success","100.05",RUB,"2026-11-21 12:00:00"\n`],
  ])('a statement file is read with %s', async (_name, content) => {
    expect(await read(content)).toEqual({ payments: [PAYMENT], unreadable: [] });
  });

  test('a statement may lack bill and currency, and its times are in the time zone of the shop or their own', async () => {
    const lines = ['"P-""1,",,FAIL,7,,2026-11-21 15:00:00', 'P-2,,NEW,7.5,,2026-11-21T15:00:00.000+03:00'];
    const { payments, unreadable } = await read(`${STATEMENT_HEADER}\n${lines.join('\n')}`, '+03:00');
    expect(unreadable).toEqual([]);
    const { createdAt } = PAYMENT;
    const none = { billId: null, currency: null };
    expect(payments).toEqual([
      { ...none, paymentId: 'P-"1,', status: 'FAIL', amount: '7.00', createdAt },
      { ...none, paymentId: 'P-2', status: 'NEW', amount: '7.50', createdAt },
    ]);
  });

  test.each([
    ['P-1,B-1,SUCCESS,100.051,RUB,2026-11-21 12:00:00', /amount "100.051"/],
    ['P-1,B-1,SUCCESS,"1,00",RUB,2026-11-21 12:00:00', /amount "1,00"/],
    ['P-1,B-1,SUCCESS,,RUB,2026-11-21 12:00:00', /amount ""/],
    [',B-1,SUCCESS,1,RUB,2026-11-21 12:00:00', /payment_id is empty/],
    ['P-1,B-1,Paid,1,RUB,2026-11-21 12:00:00', /status "Paid" is not one of NEW, PROCESS, SUCCESS, FAIL/],
    ['P-1,B-1,SUCCESS,1,RUB,2026-02-30 12:00:00', /created_at "2026-02-30 12:00:00"/],
    ['P-1,B-1,SUCCESS,1,RUB,2026-11-21T12:00:00+30:00', /created_at "2026-11-21T12:00:00\+30:00"/],
    ['P-1,B-1,SUCCESS,1,rubles,2026-11-21 12:00:00', /currency "rubles"/],
    ['P-1,B-1,SUCCESS,1,RUB', /It has 5 fields, but the header has 6/],
    ['P-1,"B"-1,SUCCESS,1,RUB,2026-11-21 12:00:00', /It has 0 fields/],
    ['P-1,B-1,"SUCC', /It has 0 fields/],
  ])('a line of a statement that is no payment is reported, and the rest is read: %s', async (line, reason) => {
    const { payments, unreadable } = await read(`${STATEMENT_HEADER}\n${LINE}\n${line}\n${LINE}\n`);
    expect(payments.length).toBe(2);
    expect(unreadable).toEqual([{ line: 3, reason: expect.stringMatching(reason) }]);
  });

  test.each([
    ['', 'is empty'],
    ['id,amount,created_at\n', `the first line of a statement must be ${STATEMENT_HEADER}`],
    [`${STATEMENT_HEADER.replaceAll(',', ';')}\n`, 'the first line'],
  ])('a statement file with other columns is refused: %j', async (content, sentence) => {
    const refused = read(content);
    await expect(refused).rejects.toBeInstanceOf(UsageError);
    await expect(refused).rejects.toThrow(sentence);
  });

  test('a statement file that does not exist is a usage error', async () => {
    const reading = readStatement('/nowhere.csv', 'UTC', () => undefined).next();
    await expect(reading).rejects.toThrow(UsageError);
  });
});
