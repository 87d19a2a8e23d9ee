import { expect, test } from '@jest/globals';
import { BillInquiry } from './bill-inquiry.js';

test('inquiries about a shop end together after a failed statement, and what was asked is noted', async () => {
  const bills = Array.from({ length: 10 }, (_, index) => ({ billId: `b-${index}`, asks: 0 }));
  const asked: string[] = [];
  const noted: string[] = [];
  const inquiry = Reflect.construct(BillInquiry, [
    {
      noteAsked: (_shop: string, some: typeof bills) =>
        Promise.resolve(noted.push(...some.map(({ billId }) => billId))),
      forgetBills: () => Promise.resolve(),
    },
    {
      otherNameOf: (_shop: object, billId: string) =>
        billId === 'b-0' ? Promise.reject(new Error('statement timeout')) : Promise.resolve('other'),
    },
    {
      readPaymentList: async (_shop: object, billId: string) => {
        asked.push(billId);
        for (let turns = 0; turns < (billId === 'b-1' ? 20 : 1); turns += 1) await Promise.resolve();
        return { payments: [{ billId }], problems: [] };
      },
    },
    ...[{}, {}, {}, {}],
    { callbacks: { inquiriesPerHour: 3_600 }, leases: { creationMs: 1_000 }, shutdownTimeoutMs: 1_000 },
  ]) as BillInquiry;
  const inquiries = { shop: { name: 'main' }, bills, atOnce: 2, isCrowded: false };
  type Given = Parameters<BillInquiry['process']>[0];
  await expect(inquiry.process(inquiries as unknown as Given, new AbortController().signal)).rejects.toThrow('timeout');
  expect([asked, noted]).toEqual([['b-0', 'b-1'], ['b-1']]);
});
