import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UsageError } from '../arguments.js';
import { StatementColumns } from './columns.js';
import { readStatement, type UnreadableRow } from './statement-file.js';

let folder: string;

const file = (content: string | Buffer): string => {
  writeFileSync(join(folder, 'statement'), content);
  return join(folder, 'statement');
};

interface Options {
  column?: string[];
  status?: string[];
  zone?: string;
}

async function read(content: string | Buffer, { column = [], status = [], zone = 'UTC' }: Options = {}) {
  const unreadable: UnreadableRow[] = [];
  const payments = [];
  const columns = new StatementColumns(column, status);
  for await (const payment of readStatement(file(content), columns, zone, (row) => unreadable.push(row))) {
    payments.push(payment);
  }
  return { payments, unreadable };
}

const PAYMENT = {
  paymentId: 'P-1',
  status: 'SUCCESS',
  amount: '100.05',
  createdAtText: '2026-11-21 12:00:00',
  createdAt: new Date('2026-11-21T12:00:00Z'),
  billId: 'B-1',
  orderId: null,
  currency: 'RUB',
};
const HEADER = 'id,bill_id,status,amount,currency_in,created_at';

describe('a statement', () => {
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'payment-statement-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each([
    ['CSV', `${HEADER}\nP-1,B-1,SUCCESS,100.05,RUB,2026-11-21 12:00:00\n`],
    ['CSV with CRLF, without an end', `${HEADER}\r\nP-1,B-1,SUCCESS,100.05,RUB,2026-11-21 12:00:00`],
    ['CSV with a byte order mark', `\uFEFF${HEADER}\nP-1,B-1,SUCCESS,100.05,RUB,2026-11-21 12:00:00\n`],
    ['semicolons, a decimal comma', `${HEADER.replaceAll(',', ';')}\nP-1;B-1;SUCCESS;100,05;RUB;2026-11-21 12:00:00\n`],
    ['tabs', `${HEADER.replaceAll(',', '\t')}\nP-1\tB-1\tsuccess\t100.05\trub\t2026-11-21 12:00:00\n`],
    ['quotes', `"id",${HEADER.slice(3)}\n"P-1",B-1,"SUCCESS","100,05",RUB,"2026-11-21 12:00:00"\n`],
    [
      'a JSON array',
      '\n[ {"id": "P-1", "bill_id": "B-1", "status": "SUCCESS", "amount": 100.050, "currency_in": "RUB",\n' +
        '"created_at": "2026-11-21 12:00:00", "more": ["]", {"a": "\\"}"}]} ]\n',
    ],
    [
      'JSON lines',
      '{"id":"P-1","bill_id":"B-1","status":"SUCCESS","amount":1.0005E+02,"currency_in":"RUB","created_at":"2026-11-21 12:00:00"}\n\n',
    ],
  ])('of %s', async (_name, content) => {
    expect(await read(content)).toEqual({ payments: [PAYMENT], unreadable: [] });
  });

  test('with columns and statuses of other names, quotes in quotes and several lines in a field', async () => {
    const content =
      'Note;ID;Betrag;Zustand;Datum;Auftrag\n' +
      '"He said ""10;5""\nand left";P-1;1.234,50;Bezahlt;21.11.2026 15:00:00;"A ""1"""\n' +
      ';P-2;"12 345,00";Offen;21.11.2026 15:00;\n';
    const column = ['payment_id=ID', 'amount=Betrag', 'status=Zustand', 'created_at=Datum', 'order_id=Auftrag'];
    const status = ['Bezahlt=SUCCESS', 'Offen=NEW'];
    const { payments, unreadable } = await read(content, { column, status, zone: '+03:00' });
    expect(unreadable).toEqual([]);
    expect(payments).toMatchObject([
      { paymentId: 'P-1', amount: '1234.50', status: 'SUCCESS', orderId: 'A "1"', billId: null, currency: null },
      { paymentId: 'P-2', amount: '12345.00', status: 'NEW', orderId: null },
    ]);
    expect(payments.map(({ createdAt }) => createdAt.toISOString())).toEqual(Array(2).fill('2026-11-21T12:00:00.000Z'));
  });

  test.each([
    ['P-1,B-1,SUCCESS,100.051,RUB,2026-11-21 12:00:00', /amount "100.051"/],
    ['P-1,B-1,SUCCESS,"1,000",RUB,2026-11-21 12:00:00', /amount "1,000"/],
    ['P-1,B-1,SUCCESS,,RUB,2026-11-21 12:00:00', /amount ""/],
    [',B-1,SUCCESS,1,RUB,2026-11-21 12:00:00', /payment_id is empty/],
    [
      'P-1,B-1,Paid,1,RUB,2026-11-21 12:00:00',
      /status "Paid" is none of NEW, PROCESS, SUCCESS, FAIL: say which with --status/,
    ],
    ['P-1,B-1,SUCCESS,1,RUB,2026-02-30 12:00:00', /created_at "2026-02-30 12:00:00"/],
    ['P-1,B-1,SUCCESS,1,,2026-11-21 12:00:00', /currency ""/],
    ['P-1,B-1,SUCCESS,1,RUB', /It has 5 fields, and the header has 6/],
    ['P-1,"B"-1,SUCCESS,1,RUB,2026-11-21 12:00:00', /quotes do not match/],
  ])('reports a row that is not a payment, and goes on: %s', async (row, reason) => {
    const good = 'P-9,B-1,SUCCESS,100.05,RUB,2026-11-21 12:00:00';
    const { payments, unreadable } = await read(`${HEADER}\n${good}\n${row}\n${good}\n`);
    expect(payments.length).toBe(2);
    expect(unreadable).toEqual([{ line: 3, reason: expect.stringMatching(reason) }]);
  });

  test('reports truncated files and invalid JSON', async () => {
    const one = JSON.stringify({ id: 'P-1', status: 'FAIL', amount: '1', created_at: '2026-11-21T12:00:00+03:00' });
    expect(await read(`${HEADER}\nP-1,B-1,"SUCC`)).toMatchObject({ payments: [], unreadable: [{ line: 2 }] });
    expect(await read(`[${one},\n${one.slice(0, 20)}`)).toMatchObject({
      payments: [{ createdAt: new Date('2026-11-21T09:00:00Z') }],
      unreadable: [{ line: 2, reason: expect.stringContaining('cut off') }],
    });
    expect(await read(`[${one}, 5,\n{"id":"P-2"},\n{x},${one}]`)).toMatchObject({
      payments: [{}, {}],
      unreadable: [
        { line: 1 },
        { line: 2, reason: expect.stringContaining('There is no column "status"') },
        { line: 3 },
      ],
    });
    expect(await read(`${one}\n{"id":\n${one}\n`)).toMatchObject({ payments: [{}, {}], unreadable: [{ line: 2 }] });
  });

  test.each([
    ['', {}, 'is empty'],
    ['id,amount,created_at\n', {}, 'There is no column "status", but "id", "amount", "created_at".'],
    ['id,id,status,amount,created_at\n', {}, 'the column "id" twice'],
    [`${HEADER}\n`, { column: ['order_id=Order'] }, 'There is no column "Order"'],
    [`${HEADER}\n`, { column: ['sum=amount'] }, 'there is no sum, only payment_id'],
    [`${HEADER}\n`, { column: ['amount'] }, 'must be as in amount=Sum'],
    [`${HEADER}\n`, { status: ['Paid=OK'] }, 'must end with one of NEW'],
    [Buffer.from([0x69, 0x64, 0xe4, 0xf6]), {}, 'It is not UTF-8'],
  ])('is refused if it cannot be read: %j %j', async (content, options, sentence) => {
    const refused = read(content, options);
    await expect(refused).rejects.toBeInstanceOf(UsageError);
    await expect(refused).rejects.toThrow(sentence);
  });

  test('is refused if the file does not exist', async () => {
    const reading = readStatement('/nowhere.csv', new StatementColumns([], []), 'UTC', () => undefined).next();
    await expect(reading).rejects.toThrow('ENOENT');
  });

  test('may have one status for every row', async () => {
    const { payments } = await read('id,amount,created_at\nP-1,5,2026-11-21 12:00:00\n', { status: ['SUCCESS'] });
    expect(payments).toMatchObject([{ status: 'SUCCESS', amount: '5.00', currency: null }]);
  });
});
