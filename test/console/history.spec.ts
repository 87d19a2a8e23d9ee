import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { PaymentConsoleModule } from 'nestjs-payment-console';
import { startHarness, type Harness } from '../support/harness.js';
import { postbackFields, postForm, postJson, redirectFields } from '../support/http.js';
import { Operator } from './support/operator.js';
import { Bookkeeper } from './support/records.js';

let harness: Harness;
let operator: Operator;

describe('history', () => {
  beforeAll(async () => {
    harness = await startHarness({ providers: [Bookkeeper], imports: [PaymentConsoleModule.register()] });
    operator = new Operator(`${harness.host.url}/payment-console`);
  });
  afterAll(() => harness.close());

  const bill = (orderId: string, more: object = {}) =>
    harness.host.payments.createBill({ orderId, amount: '100.05', ...more });
  const postback = (fields: Record<string, string>) => postJson(`${harness.host.url}/postback/payment`, fields);
  /** What the bill's page says. */
  const history = async (intentId: string): Promise<string> => (await operator.open(`bills/${intentId}`)).text;

  test('the history of a paid bill runs from the intent to the delivery, in the order in which it happened', async () => {
    const { intentId, billId } = await bill('A-1');
    await harness.sandbox.pay(billId);
    await harness.settle();
    const text = await history(intentId);
    const story = [
      'A bill for 100.05 RUB was requested',
      `The service created bill ${billId} , which can be paid`,
      'Postback SUCCESS received',
      'seen: SUCCESS 100.05 RUB',
      'It counts as a successful payment.',
      'Event payment.succeeded delivered to orders',
      'The bill Intent',
    ];
    expect(story.map((sentence) => text.indexOf(sentence))).toEqual(
      story.map((sentence) => text.indexOf(sentence)).sort((a, b) => a - b),
    );
    for (const sentence of story) expect(text).toContain(sentence);
  });

  test('the history of an attached bill keeps its unknown outcome, and that of a cancelled order says so', async () => {
    await harness.sandbox.setFaults({ requests: { loseAnswer: 1 } });
    const error: unknown = await bill('A-3').catch((thrown: unknown) => thrown);
    const { intentId } = error as { intentId: string };
    await harness.sandbox.clearFaults();
    const { id: billId } = harness.sandbox.bills().find(({ custom }) => custom === intentId)!;
    await harness.host.app.get(PaymentOperations).attachBill(intentId, billId, { operator: 'ann' });
    await harness.host.payments.cancelOrder('A-3');
    const text = await history(intentId);
    expect(text).toMatch(
      /It is unknown whether .*The service has bill .*ann attached bill .*The shop cancelled the order/,
    );
    expect(text).toMatch(/shop main, order cancelled \d+/);
    await harness.settle();
  });

  test('the page of an erased order says when it was erased, and shows nothing of what is gone', async () => {
    const { intentId, billId } = await bill('A-2', { description: 'Shoes for Jane Roe', custom: 'Jane Roe' });
    await harness.sandbox.pay(billId);
    await harness.settle();
    expect(await history(intentId)).toMatch(/Description Shoes for Jane Roe.*custom Jane Roe/s);
    await harness.host.app.get(PaymentOperations).eraseOrder({ orderId: 'A-2' }, { operator: 'ann' });
    const text = await history(intentId);
    expect(text).not.toContain('Jane Roe');
    expect(text).toContain('ann removed the personal data of the order');
    expect(text).toMatch(/Personal data removed \d+ \w+ \d{4}/);
  });

  describe('how a callback was judged', () => {
    test('a genuine postback is shown with matching digest and fields, and confirmed by the list of the service', async () => {
      const { intentId, billId } = await bill('B-1');
      await harness.sandbox.pay(billId);
      await harness.sandbox.settled();
      expect(await history(intentId)).toContain('It scheduled a check of the bill.');
      await harness.settle();
      const text = await history(intentId);
      expect(text).toContain("Its digest matches the shop's token. That alone proves nothing");
      expect(text).toMatch(
        /It matches our bill in the order, the amount, (?:custom and the currency|the currency and custom)\./,
      );
      expect(text).toContain("The service's list shows a payment that matches it.");
      expect(text).toMatch(/OutSum 100\.05 100\.05 matches/);
    });

    test('a forged postback is shown with differing digest and fields, and a claim that the list never shows', async () => {
      const { intentId, billId } = await bill('B-2');
      const fields = { ...postbackFields({ InvId: 'X-9', OutSum: '1.00', TrsId: billId }), CurrencyIn: 'USD' };
      expect((await postback({ ...fields, SignatureValue: '0'.repeat(32) })).status).toBe(200);
      await harness.settle();
      expect(await history(intentId)).toContain(
        'The service was asked once, but its list does not show this yet. It will be asked again.',
      );
      for (const ms of [3_000, 10_000, 30_000]) {
        harness.clock.advance(ms);
        await harness.settle();
      }
      const text = await history(intentId);
      expect(text).toContain("Its digest does not match the shop's token: someone else may have sent it");
      expect(text).toMatch(
        /It differs from our bill in the order, the amount and the currency\. It does not state custom\./,
      );
      expect(text).toContain('This has no effect: a callback is matched to its bill by id');
      expect(text).toContain(
        'The service was asked 4 times, and its list shows no such payment. Nothing was changed, and no event was sent.',
      );
      expect(text).toMatch(/InvId X-9 B-2 differs OutSum 1\.00 100\.05 differs CurrencyIn USD RUB differs/);
      expect(text).not.toMatch(/0{32}/);
    });

    test('a postback without a digest and with an undocumented status is shown as such', async () => {
      const { intentId, billId } = await bill('B-3');
      const { SignatureValue: _, ...fields } = postbackFields({ InvId: 'B-3', OutSum: '100.05', TrsId: billId });
      await postback({ ...fields, Status: 'UNDERPAID' });
      await harness.settle();
      const text = await history(intentId);
      expect(text).toContain('Postback UNDERPAID received');
      expect(text).toContain('It carries no digest, which proves nothing either way.');
      expect(text).toContain('Its status is undocumented, so it claims nothing');
    });

    test('a postback that came before its bill was known is shown as such', async () => {
      const { intentId, billId } = await bill('B-4');
      await harness.host.dataSource.query(`UPDATE payment_acceptance.bill SET bill_id = NULL WHERE intent_id = $1`, [
        intentId,
      ]);
      await postback(postbackFields({ InvId: 'B-4', OutSum: '100.05', TrsId: billId }));
      for (const statement of [
        `UPDATE payment_acceptance.bill SET bill_id = $2 WHERE intent_id = $1`,
        `UPDATE payment_acceptance.callback SET intent_id = $1 WHERE bill_id = $2`,
      ]) {
        await harness.host.dataSource.query(statement, [intentId, billId]);
      }
      expect(await history(intentId)).toContain('it arrived before the bill was known');
    });

    test('redirects are shown as claiming nothing', async () => {
      const { intentId } = await bill('B-5', { custom: 'basket 5' });
      const fields = redirectFields({ InvId: 'B-5', OutSum: '100.05', custom: 'basket 6' });
      expect((await postForm(`${harness.host.url}/redirect/payment/success`, fields)).status).toBe(303);
      expect((await postForm(`${harness.host.url}/redirect/payment/fail`, fields)).status).toBe(303);
      await harness.settle();
      const text = await history(intentId);
      expect(text).toMatch(/Success redirect received .*Fail redirect received/);
      expect(text).toContain('It covers the amount and the order, not the result.');
      expect(text).toContain('It differs from our bill in custom.');
      expect(text).toContain('A redirect makes no claim that could be confirmed.');
      expect(text).toContain('custom basket 6 basket 5 differs');
    });

    test('a callback whose fields were removed due to age still says what was found out', async () => {
      const { intentId, billId } = await bill('B-6');
      await harness.sandbox.pay(billId);
      await harness.settle();
      await harness.host.dataSource.query(`UPDATE payment_acceptance.callback SET fields = '{}' WHERE intent_id = $1`, [
        intentId,
      ]);
      const text = await history(intentId);
      expect(text).toContain('InvId not kept B-6 matches');
      expect(text).toContain('Its fields were removed due to age, or with the personal data of its bill.');
    });
  });

  test('a slow payment, a failure and another attempt each have their place in the history', async () => {
    const { intentId, billId } = await bill('C-1', { description: 'Two cups' });
    await harness.sandbox.pay(billId, { card: '4000 0000 0000 3220' });
    harness.clock.advance(60_000);
    await harness.settle();
    expect(await history(intentId)).toMatch(/seen: (NEW|PROCESS)/);
    const { payments } = harness.sandbox.bill(billId);
    await harness.sandbox.complete(payments[0]!.id, { outcome: 'fail' });
    harness.clock.advance(2_000); // checks of one bill keep apart
    await harness.settle();
    const text = await history(intentId);
    expect(text).toMatch(/seen for the first time .* became FAIL/);
    expect(text).toContain('It failed; the bill stays open.');
    expect(text).toMatch(
      /Event payment\.failed dead letter of orders .*PaymentNonRetryableError: this order is unknown here/,
    );
    const second = await harness.host.payments.createBill({ orderId: 'C-1', amount: '90.00' }, { newAttempt: true });
    const other = await history(second.intentId);
    expect(other).toContain('Order C-1 open 90.00 RUB, shop main, attempt 2');
    expect(other).toMatch(/All bills of the order .*C-1 open 100\.05 .*C-1 attempt 2 open 90\.00/);
  });

  test('a refused bill and a failed check say why in the history', async () => {
    await harness.sandbox.setFaults({ requests: { merchantBanned: 1 } });
    await expect(bill('D-1')).rejects.toThrow();
    await harness.sandbox.clearFaults();
    const { intentId, billId } = await bill('D-2');
    await harness.sandbox.pay(billId);
    await harness.sandbox.setFaults({ requests: { billNotFound: 1 } });
    await harness.settle();
    await harness.sandbox.clearFaults();
    expect(await history(intentId)).toMatch(/Last check failed PaymentBillNotFoundError: .* 1 in a row/);
    const { bills } = await harness.host.ledger();
    const refused = bills.find(({ orderId }) => orderId === 'D-1')!;
    expect(await history(refused.intentId)).toMatch(/No bill was created PaymentMerchantBannedError: /);
  });

  test('the overview shows a shop that the service refuses, with the reason', async () => {
    await bill('E-1');
    await harness.sandbox.setFaults({ requests: { unauthenticated: 1 } });
    harness.clock.advance(60 * 60_000);
    await harness.settle();
    await harness.sandbox.clearFaults();
    const { text } = await operator.open();
    expect(text).toContain('Refused shops 1');
    expect(text).toMatch(/The service refuses 1 shop .*main .*since /);
  });
});
