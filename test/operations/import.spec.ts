import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PaymentOperatorActionError, PaymentImport, type BillToImport } from 'nestjs-payment-acceptance/operations';
import { MAIN_TOKEN, startHarness, type Harness } from '../support/harness.js';
import { EffectWriter } from '../support/orders.js';

let harness: Harness;
let imports: PaymentImport;

/** A bill that an older integration created and the module does not know. */
async function olderBill(orderId: string, amount = '10.00'): Promise<BillToImport> {
  const answer = await fetch(`${harness.sandboxUrl}/api/v1/bill/create`, {
    method: 'POST',
    headers: { authorization: `Bearer ${MAIN_TOKEN}` },
    body: new URLSearchParams({ amount, order_id: orderId, shop_id: 'shop-main', type: 'normal', currency_in: 'RUB' }),
  });
  const { bill_id: billId, link_page_url: linkPageUrl } = (await answer.json()) as Record<string, string>;
  return { orderId, billId: billId!, amount, linkPageUrl, createdAt: new Date(Date.now() - 3_600_000).toISOString() };
}

const run = (bills: BillToImport[], dryRun = false) => imports.importBills(bills, { operator: 'ann', dryRun });
const billsOf = async (orderId: string) =>
  (await harness.host.ledger()).bills.filter((bill) => bill.orderId === orderId);

describe('importing open bills of an older integration', () => {
  beforeAll(async () => {
    harness = await startHarness({ instances: 2, providers: [EffectWriter], options: { http: { attempts: 1 } } });
    imports = harness.host.app.get(PaymentImport);
  });
  afterAll(() => harness.close());

  test('an imported bill settles by a later payment, or by one whose postback came before', async () => {
    const [early, late] = [await olderBill('early'), await olderBill('late')];
    await harness.sandbox.pay(early.billId);
    await harness.settle();
    expect(await run([early, late])).toEqual({ dryRun: false, imported: 2, present: 0, refused: [] });
    expect(await billsOf('late')).toMatchObject([
      { state: 'OPEN', attempt: 1, amount: '10.00', currency: 'RUB', createdAt: late.createdAt },
    ]);
    await harness.settle();
    expect((await harness.host.ledger()).callbacks).toMatchObject([{ billId: early.billId, pending: false }]);
    await harness.sandbox.pay(late.billId);
    await harness.sandbox.settled();
    harness.clock.advance(2_000);
    await harness.settle();
    expect((await harness.effects()).map(({ orderId, event }) => [orderId, event])).toEqual([
      ['early', 'payment.succeeded'],
      ['late', 'payment.succeeded'],
    ]);
  });

  test('createBill returns an imported bill, and refuses another amount', async () => {
    const older = await olderBill('same');
    await run([older]);
    const bill = await harness.host.payments.createBill({ orderId: 'same', amount: '10' });
    expect(bill).toMatchObject({ billId: older.billId, linkPageUrl: older.linkPageUrl, attempt: 1 });
    await expect(harness.host.payments.createBill({ orderId: 'same', amount: '11' })).rejects.toMatchObject({
      code: 'bill-mismatch',
    });
  });

  test('createBill returns the newest bill, even if an older one was imported later', async () => {
    const own = await harness.host.payments.createBill({ orderId: 'newest', amount: '10' });
    await run([await olderBill('newest')]);
    const again = await harness.host.payments.createBill({ orderId: 'newest', amount: '10' });
    expect(again.billId).toBe(own.billId);
  });

  test('importing again changes nothing, even concurrently, and the operator is recorded', async () => {
    const bills = await Promise.all(Array.from({ length: 5 }, (_, index) => olderBill(`twice-${index}`)));
    const other = harness.instances[1]!.app.get(PaymentImport);
    const reports = await Promise.all([run(bills), other.importBills(bills, { operator: 'ben' })]);
    expect(reports.reduce((sum, { imported }) => sum + imported, 0)).toBe(5);
    expect(reports.reduce((sum, { present }) => sum + present, 0)).toBe(5);
    expect(await run(bills)).toMatchObject({ imported: 0, present: 5, refused: [] });
    const actions: unknown[] = await harness.host.dataSource.query(
      `SELECT 1 FROM payment_acceptance.operator_action WHERE action = 'import-bill' AND detail ->> 'orderId' LIKE 'twice-%'`,
    );
    expect(actions.length).toBe(5);
  });

  test('a dry run stores nothing, and reports what would happen', async () => {
    const [known, fresh] = [await olderBill('dry-known'), await olderBill('dry-fresh')];
    await run([known]);
    const claimed = { ...fresh, orderId: 'somebody-else-s' };
    expect(await run([known, fresh, fresh, claimed], true)).toEqual({
      dryRun: true,
      imported: 1,
      present: 2,
      refused: [
        {
          index: 3,
          orderId: 'somebody-else-s',
          billId: fresh.billId,
          problems: [
            'A bill with this billId already exists here: order "dry-fresh", 10.00 RUB, the shop pays the commission, OPEN.',
          ],
        },
      ],
    });
    expect(await billsOf('dry-fresh')).toEqual([]);
  });

  test('invalid bills are refused with reasons, and do not affect the others', async () => {
    const good = await olderBill('good');
    const bad = (more: object): BillToImport => ({ ...good, billId: 'bad', ...more });
    const { imported, refused } = await run([
      bad({ amount: '10.001', orderId: '' }),
      bad({ amount: 10 }),
      bad({ amount: '-1' }),
      bad({ shop: 'nobody' }),
      bad({ billId: 'with space', linkPageUrl: 'javascript:alert(1)' }),
      bad({ createdAt: '2026-11-21 12:00:00' }),
      bad({ createdAt: new Date(Date.now() + 60_000) }),
      null as unknown as BillToImport,
      good,
      { ...good, amount: '11.00' },
    ]);
    expect(imported).toBe(1);
    expect(refused.map(({ index, problems }) => [index, problems.join(' ')])).toEqual([
      [0, expect.stringMatching(/amount must be.*orderId must be a single-line string of 1 to 255 characters/)],
      [1, expect.stringMatching(/amount must be a decimal string/)],
      [2, expect.stringMatching(/amount must be/)],
      [3, 'There is no shop "nobody".'],
      [4, expect.stringMatching(/billId must be.*linkPageUrl must be/)],
      [5, expect.stringMatching(/createdAt must be/)],
      [6, 'createdAt is in the future.'],
      [7, 'It is not an object.'],
      [9, expect.stringMatching(/already exists here: order "good", 10.00 RUB/)],
    ]);
  });

  test('a bill is not the same if another payer of the commission is stated, and a numeric id is named', async () => {
    const older = await olderBill('corrected');
    await run([older]);
    await harness.host.dataSource.query(
      `UPDATE payment_acceptance.bill SET payer_pays_commission = TRUE WHERE bill_id = '${older.billId}'`,
    );
    expect(await run([older])).toMatchObject({ present: 1 });
    const numeric = { ...older, billId: 7, orderId: 8 } as unknown as BillToImport;
    const { refused } = await run([{ ...older, payerPaysCommission: false }, numeric]);
    expect(refused).toMatchObject([
      {
        problems: [
          'A bill with this billId already exists here: order "corrected", 10.00 RUB, the payer pays the commission, OPEN.',
        ],
      },
      { billId: '7', orderId: '8' },
    ]);
  });

  test('imported addresses of pages are stored normalised, as a browser reads them', async () => {
    const older = await olderBill('addressed');
    const linkPageUrl = ' HTTPS://Pay.Example/a b\r\n"><i>';
    expect(await run([{ ...older, linkPageUrl, linkUrl: 'http://pay.example' }])).toMatchObject({ imported: 1 });
    expect(await harness.host.payments.createBill({ orderId: 'addressed', amount: '10' })).toMatchObject({
      linkPageUrl: 'https://pay.example/a%20b%22%3E%3Ci%3E',
      linkUrl: 'http://pay.example/',
    });
  });

  test('an import needs an operator', async () => {
    await expect(imports.importBills([], { operator: ' ' })).rejects.toBeInstanceOf(PaymentOperatorActionError);
  });

  test('an unpaid imported bill expires by its age, like any other', async () => {
    const old = { ...(await olderBill('old')), createdAt: new Date(Date.now() - 4 * 86_400_000) };
    await run([old]);
    await harness.settle();
    expect(await billsOf('old')).toMatchObject([{ state: 'EXPIRED' }]);
  });
});
