import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { PaymentInvalidBillRequestError } from 'nestjs-payment-acceptance';
import { createdBill, startRecordedHarness, type RecordedHarness } from '../support/recorded-harness.js';
import { formOf } from '../support/recorder.js';

let recorded: RecordedHarness;
let count = 0;

describe('multipart', () => {
  beforeAll(async () => {
    recorded = await startRecordedHarness({ shopId: '17";--x' });
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });
  afterAll(() => recorded.close());

  /** Creates a bill. @returns the body, with the boundary that its header names */
  async function sent(request: object = {}): Promise<{ boundary: string; body: string }> {
    count += 1;
    recorded.recorder.answer(createdBill(`b-${count}`));
    await recorded.harness.host.payments.createBill({ orderId: `m-${count}`, amount: '100.05', ...request });
    const { headers, body } = recorded.recorder.request;
    const boundary = /^multipart\/form-data; boundary=([\w.-]+)$/.exec(headers['content-type'] ?? '')?.[1];
    if (boundary === undefined) throw new Error(`There is no boundary in ${String(headers['content-type'])}`);
    return { boundary, body: body.toString('utf8') };
  }

  /** The fields, read by an independent parser. No value may have added, split or replaced a field. */
  async function expectFields(more: Record<string, string>): Promise<void> {
    const fields = await formOf(recorded.recorder.request);
    expect(new Set(fields.map(([name]) => name)).size).toBe(fields.length);
    const names = ['amount', 'order_id', 'description', 'type', 'shop_id', 'currency_in', 'custom', 'name'];
    const expected = names.filter((name) => more[name] !== undefined || !['description', 'name'].includes(name));
    expect(fields.map(([name]) => name)).toEqual(expected);
    expect(Object.fromEntries(fields)).toMatchObject({ amount: '100.05', shop_id: '17";--x', ...more });
  }

  const PART = '\r\nContent-Disposition: form-data; name="amount"\r\n\r\n0.01\r\n';

  describe('form values that try to be more than a value', () => {
    test.each([
      ['line ends', 'a\r\n\r\nb\r\n'],
      ['a part of its own', PART],
      ['the end of the form', `x\r\n--${PART}----\r\n`],
      ['quotes and a file name', '"; filename="x.php"\r\nContent-Type: text/html\r\n\r\n<?php'],
      ['a field of a query', '&amount=0.01&order_id=1;amount=0.01'],
      ['percent signs', '%0D%0A--%22'],
      ['line and paragraph separators, BOM and marks of direction', '\u2028\u2029\ufeff\u202e'],
    ])('a form value stays one value: %s', async (_name, value) => {
      await sent({ description: value, custom: value, name: value, type: value.slice(0, 64) });
      await expectFields({ description: value, custom: value, name: value, type: value.slice(0, 64) });
    });

    test('a form value with the boundary of the previous request stays one value', async () => {
      for (let round = 0; round < 5; round += 1) {
        const { boundary } = await sent();
        const value = `x\r\n--${boundary}${PART}--${boundary}--\r\n`;
        await sent({ custom: value });
        await expectFields({ custom: value });
      }
    });

    test('an order id is one well-formed line, so it cannot add a part', async () => {
      for (const orderId of [`m\r\n--x${PART}`, 'm\nn', 'm\rn', 'm\0n', 'm\ud800n', '', { toString: () => 'm' }]) {
        recorded.recorder.answer(createdBill('never'));
        const creating = recorded.harness.host.payments.createBill({ orderId: orderId as string, amount: '1' });
        await expect(creating).rejects.toThrow(PaymentInvalidBillRequestError);
        expect(recorded.recorder.requests).toEqual([]);
      }
    });

    test('an order id with quotes and backslashes is unchanged', async () => {
      const orderId = '1"; name="amount"; x=\\"';
      await sent({ orderId });
      await expectFields({ order_id: orderId });
    });
  });

  describe('the boundary', () => {
    test('the multipart boundary is different each time, and too long to be guessed', async () => {
      const boundaries = new Set<string>();
      for (let round = 0; round < 20; round += 1) boundaries.add((await sent()).boundary);
      expect(boundaries.size).toBe(20);
      const [first = '', second = ''] = boundaries;
      let common = 0;
      while (first[common] === second[common]) common += 1;
      // 20 characters out of 64 are 120 bits.
      expect(first.length - common).toBeGreaterThanOrEqual(20);
    });

    test('the multipart boundary does not come from Math.random, whose state can be derived from its output', async () => {
      jest.spyOn(Math, 'random').mockReturnValue(0.5);
      expect((await sent()).boundary).not.toBe((await sent()).boundary);
    });
  });

  test('a bill id in the URL of a read stays one query parameter', async () => {
    for (const billId of ['1&id=2', '1#', '../create?x=', '1\r\nHost: evil', '%00', 'b 1']) {
      recorded.recorder.answer({ body: '{"success":true,"data":[]}' });
      await recorded.harness.host.payments.listPayments(billId);
      const { path, query } = recorded.recorder.request;
      expect([path, [...query]]).toEqual(['/api/v1/bill/payments', [['id', billId]]]);
    }
  });
});
