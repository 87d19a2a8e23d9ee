import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PaymentReconciliation, PaymentReviews } from 'nestjs-payment-acceptance/operations';
import { commandsOf, type Commands } from '../support/commands.js';
import { MAIN_TOKEN, startHarness, type Harness } from '../support/harness.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let harness: Harness;
let commands: Commands;

interface Row {
  paymentId: string;
  orderId: string | null;
  billState: string | null;
  verdict: string | null;
  differences: string[];
}

interface Document {
  different: number;
  unknownBills: number;
  unreadable: number;
  unreadableRows: { line: number; reason: string }[];
  totals: object[];
  rows: Row[];
}

async function against(...args: string[]): Promise<{ code: number; document: Document }> {
  const { code, document } = await commands.json('reconcile', '--against', ...args);
  return { code, document: document as Document };
}

/** The payment of a bill in the merchant's account. */
async function listed(billId: string): Promise<Record<string, string>> {
  const answer = await fetch(`${harness.sandboxUrl}/api/v1/bill/payments?id=${billId}`, {
    headers: { authorization: `Bearer ${MAIN_TOKEN}` },
  });
  const { data } = (await answer.json()) as { data: Record<string, string | number>[] };
  return Object.fromEntries(Object.entries(data[0]!).map(([name, value]) => [name, String(value)]));
}

async function paid(orderId: string, amount = '10.00'): Promise<Record<string, string>> {
  const { billId } = await harness.host.payments.createBill({ orderId, amount });
  await harness.sandbox.pay(billId);
  await harness.settle();
  return listed(billId);
}

const FIELDS = ['id', 'bill_id', 'status', 'amount', 'currency_in', 'created_at'];
const csv = (payments: Record<string, string>[]): string =>
  [
    'payment_id,bill_id,status,amount,currency,created_at',
    ...payments.map((each) => FIELDS.map((name) => each[name])),
  ].join('\r\n');

describe('a statement of the account against the ledger', () => {
  beforeAll(async () => {
    harness = await startHarness();
    commands = commandsOf(harness);
  });
  afterAll(async () => {
    commands.close();
    await harness.close();
  });

  test('a statement shows missing payments on either side, unknown bills, and differences', async () => {
    const first = await paid('agreed');
    const left = await paid('left-out');
    const other = await paid('other-amount');
    const status = await paid('other-status');
    const unseen = await harness.host.payments.createBill({ orderId: 'unseen', amount: '10' });
    await harness.sandbox.setFaults({ postbacks: { drop: 1 } });
    await harness.sandbox.pay(unseen.billId);
    const unknown = await commands.foreignBill('nobody-knows', '7.05');
    await harness.sandbox.pay(unknown.billId);
    await harness.sandbox.clearFaults();
    const last = await paid('last');
    const file = commands.file(
      'statement.csv',
      csv([
        first,
        { ...other, amount: '10.01' },
        { ...status, status: 'FAIL' },
        await listed(unseen.billId),
        await listed(unknown.billId),
        { ...first, amount: 'ten' },
        last,
        last,
      ]),
    );
    const { code, document } = await against(file);
    expect(code).toBe(1);
    expect(document.rows.map(({ orderId, billState, differences }) => [orderId, billState, differences])).toEqual([
      ['agreed', 'PAID', []],
      ['other-amount', 'PAID', ['amount']],
      ['other-status', 'PAID', ['status']],
      ['unseen', 'OPEN', ['missing-in-ledger']],
      [null, null, ['missing-in-ledger', 'unknown-bill']],
      ['last', 'PAID', []],
      ['last', 'PAID', ['listed-twice']],
      ['left-out', 'PAID', ['missing-in-statement']],
    ]);
    expect(document.rows.at(-1)!.paymentId).toBe(left.id);
    expect(document).toMatchObject({
      different: 6,
      unknownBills: 1,
      unreadable: 1,
      unreadableRows: [{ line: 7, reason: expect.stringContaining('amount "ten"') }],
      // Exact: 10 + 10.01 + 10 + 7.05 + 10 of the statement, five times 10 of the ledger.
      totals: [
        { currency: 'RUB', servicePayments: 5, serviceAmount: '47.06', ledgerPayments: 5, ledgerAmount: '50.00' },
      ],
    });
    const text = await commands.command('reconcile', '--against', file);
    expect(text.code).toBe(1);
    expect(text.out.split('\r\n')[5]).toMatch(
      /^main,,\S+,,\S+,2026-.*,,SUCCESS,,7\.05,,RUB,,,missing-in-ledger unknown-bill,$/,
    );
    expect(text.err).toMatch(
      /^line 7: amount "ten"[^\n]*\n.*: 8 rows, 6 with a difference\npayments of bills not known here: 1; unreadable lines: 1/,
    );
    expect(text.err).toContain('SUCCESS in RUB: statement 47.06 (payments: 5), ledger 50.00 (payments: 5)\n');
  });

  test('a complete statement agrees with the ledger, and failures count only if it lists any', async () => {
    const { billId } = await harness.host.payments.createBill({ orderId: 'fails', amount: '10' });
    await harness.sandbox.pay(billId, { outcome: 'fail' });
    await harness.settle();
    const failed = await listed(billId);
    const bounds = [await paid('bound-1'), await paid('bound-2')].map((payment) => ({
      ...payment,
      created_at: failed.created_at!,
    }));
    const whole = commands.file('whole.csv', csv(bounds));
    const { document } = await against(whole);
    expect(document.rows.filter(({ orderId }) => orderId === 'fails')).toEqual([]);
    const another = { ...failed, id: 'P-other', bill_id: 'B-other' };
    const more = commands.file('more.csv', csv([...bounds, another]));
    const again = await against(more);
    expect(again.document.rows.find(({ orderId }) => orderId === 'fails')!.differences).toEqual([
      'missing-in-statement',
    ]);
  });

  test('a statement lacks a payment that an operator accepted under an id unknown to the service', async () => {
    const bounds = [await paid('before')];
    const { billId } = await harness.host.payments.createBill({ orderId: 'mistyped', amount: '10' });
    await harness.sandbox.setFaults({ requests: { tooManyPayments: 1 } });
    harness.clock.advance(60_000);
    await harness.settle();
    await harness.sandbox.clearFaults();
    const reviews = harness.host.app.get(PaymentReviews);
    const { id } = (await reviews.list()).find((review) => review.billId === billId)!;
    await reviews.accept(id, { operator: 'ann', paymentId: 'mistyped-id', amount: '10.00' });
    const later = await paid('after');
    bounds.push({ ...later, created_at: new Date(Date.now() + 86_400_000).toISOString() });
    const { document } = await against(commands.file('accepted.csv', csv(bounds)));
    expect(document.rows.find(({ orderId }) => orderId === 'mistyped')).toMatchObject({
      paymentId: 'mistyped-id',
      differences: ['missing-in-statement'],
    });
    const succeeded = document.rows.filter(({ verdict }) => verdict === 'succeeded');
    expect(document.totals).toMatchObject([{ servicePayments: 2, ledgerPayments: succeeded.length }]);
  });

  test('a statement that is empty or of another shop, or with options of other commands, is reported', async () => {
    const file = commands.file('one.csv', csv([await paid('of-main')]));
    expect((await against(file, '--shop', 'eu')).document).toMatchObject({
      unknownBills: 1,
    });
    for (const args of [[], ['--day', '2026-11-21', '--against', file], ['--against', file, '--followed']]) {
      expect((await commands.command('reconcile', ...args)).code).toBe(2);
    }
    expect(await commands.command('reconcile', '--against', commands.file('empty.csv', '\n'))).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('the first line of a statement must be'),
    });
    expect(await commands.command('reconcile', '--against', commands.file('header.csv', csv([])))).toMatchObject({
      code: 1,
      err: expect.stringContaining('The statement has no payments.'),
    });
    const plain = await commands.command('reconcile', '--day', '2026-01-01');
    expect(plain.err).toMatch(/Payments of unknown bills are found only in a statement .* --against FILE\.\n$/);
  });

  test('a statement without currencies is summed in those of the ledger', async () => {
    const payment = { ...(await paid('no-currency', '7.00')), currency_in: '' };
    const { document } = await against(commands.file('plain.csv', csv([payment])));
    expect(document.totals).toMatchObject([{ currency: 'RUB', serviceAmount: '7.00' }]);
  });

  test("a day's reconciliation has each payment made that day, also one that became known later", async () => {
    const { billId } = await harness.host.payments.createBill({ orderId: 'twice', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.settle();
    harness.clock.advance(2 * DAY);
    await harness.sandbox.advanceClock('2d');
    await harness.sandbox.setFaults({ postbacks: { drop: 1 } });
    const { payment } = await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    harness.clock.advance(DAY + 2 * HOUR);
    await harness.settle();
    const rows = [];
    const day = payment.createdAt.slice(0, 10);
    for await (const row of harness.host.app.get(PaymentReconciliation).reconcile({ day, shop: 'main' }))
      rows.push(row);
    expect(rows.filter(({ orderId }) => orderId === 'twice')).toMatchObject([
      { paymentId: payment.id, differences: [] },
    ]);
  });
});
