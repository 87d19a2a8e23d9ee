import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ONE_ADAPTER } from '../support/adapters.js';
import { startAttackedShop, type AttackedShop } from './support/attacked-shop.js';
import { sendForm, sendRaw } from './support/sending.js';

const DAY_MS = 86_400_000;
const MIN_GAP_MS = 2_000;

describe.each(ONE_ADAPTER)('replayed redirects, on %s', (adapter) => {
  let shop: AttackedShop;
  beforeAll(async () => {
    shop = await startAttackedShop(adapter);
  });
  afterAll(() => shop.close());

  const send = (path: string, fields: Record<string, string>) =>
    sendForm(`${shop.url}/redirect/payment/${path}`, fields);
  /** What the payer sees after the redirect. */
  const pageAfter = async (answer: Response) =>
    (await fetch(new URL(answer.headers.get('location') ?? '', answer.url))).text();
  const namesOf = async (orderId: string) => (await shop.order(orderId)).events.map(({ name }) => name);
  async function paid() {
    const order = await shop.buy();
    const { fields } = await shop.pay(order.billId);
    await shop.settle();
    expect(await shop.order(order.id)).toMatchObject({ status: 'paid', paidAmount: '100.05' });
    return { ...order, fields };
  }

  test('the form of a Fail redirect sent to the Success URL pays nothing', async () => {
    const order = await shop.buy();
    const { fields } = await shop.pay(order.billId, { outcome: 'fail' });
    const nothingChanged = await shop.watch();
    const answer = await send('success', fields);
    expect(answer.status).toBe(303);
    // For a while, as if the list did not show yet what the Success URL claims.
    expect(await pageAfter(answer)).toContain('Checking your payment');
    await nothingChanged();
    expect(await shop.order(order.id)).toMatchObject({ status: 'not_paid', paidAmount: null });
    expect(await pageAfter(answer)).toContain('Payment failed');
  });

  test('the form of a Fail redirect sent to the Success URL before any other report pays nothing', async () => {
    const order = await shop.buy();
    const { fields } = await shop.paySilently(order.billId, { outcome: 'fail' });
    const answer = await send('success', fields);
    expect(await pageAfter(answer)).toContain('Checking your payment');
    expect(await shop.order(order.id)).toMatchObject({ status: 'pending', events: [] });
    await shop.settleHints();
    expect(await shop.order(order.id)).toMatchObject({ status: 'not_paid', paidAmount: null });
    expect(await namesOf(order.id)).toEqual(['payment.failed']);
  });

  test('the form of a Success redirect sent to the Fail URL leaves the order paid', async () => {
    const order = await paid();
    const nothingChanged = await shop.watch();
    const answer = await send('fail', order.fields);
    await nothingChanged();
    expect(await pageAfter(answer)).toContain('Payment received');
    expect(await shop.order(order.id)).toMatchObject({ status: 'paid' });
  });

  test('the form of a Success redirect sent for another order, amount or shop changes nothing', async () => {
    const mine = await paid();
    const other = await shop.buy();
    const [bill] = (await shop.ledger()).bills.filter(({ orderId }) => orderId === other.id);
    const nothingChanged = await shop.watch();
    const callbacks = (await shop.ledger()).callbacks.length;
    const custom = bill!.intentId;
    for (const [path, change] of [
      ['success', { InvId: other.id }],
      ['success', { InvId: other.id, custom }],
      ['success', { InvId: other.id.toUpperCase(), custom }],
      ['success', { OutSum: '100.050' }],
      ['success/eu', { CurrencyIn: 'EUR' }],
    ] as const) {
      const answer = await send(path, { ...mine.fields, ...change });
      expect([path, change, answer.status]).toEqual([path, change, 403]);
    }
    expect((await shop.ledger()).callbacks).toHaveLength(callbacks);
    await nothingChanged();
  });

  test("the form of a Success redirect sent with the custom of another order's bill changes nothing", async () => {
    const mine = await paid();
    const other = await shop.buy();
    const bills = (await shop.ledger()).bills;
    const nothingChanged = await shop.watch();
    const { intentId } = bills.find(({ orderId }) => orderId === other.id)!;
    const answer = await send('success', { ...mine.fields, custom: intentId });
    expect(answer.status).toBe(303);
    await nothingChanged();
    const page = await pageAfter(answer);
    expect(page).toContain(mine.id);
    expect(page).not.toContain(other.id);
  });

  test('a Success redirect replayed a thousand times causes no more checks than the minimum gap allows', async () => {
    const order = await paid();
    const nothingChanged = await shop.watch();
    const startedAt = Date.now();
    const before = shop.requests();
    const form = new URLSearchParams(order.fields).toString();
    const request = (connection: string) =>
      `POST /redirect/payment/success HTTP/1.1\r\nHost: shop\r\nConnection: ${connection}\r\n` +
      `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${form.length}\r\n\r\n${form}`;
    const twenty = request('keep-alive').repeat(19) + request('close');
    for (let batch = 0; batch < 5; batch += 1) {
      const answers = await Promise.all(Array.from({ length: 10 }, () => sendRaw(shop.url, twenty)));
      expect(answers.join('').match(/^HTTP\/1.1 303 /gm)).toHaveLength(200);
      await shop.confirmer.runOnce();
    }
    const checks = Math.ceil((Date.now() - startedAt) / MIN_GAP_MS) + 1;
    expect(shop.requests() - before).toBeLessThanOrEqual(checks);
    await nothingChanged();
    expect(await namesOf(order.id)).toEqual(['payment.succeeded']);
  });

  test('a Success redirect replayed days later changes nothing, and the old link to its result page has expired', async () => {
    const order = await paid();
    const first = await send('success', order.fields);
    await shop.elapse(10 * DAY_MS);
    const nothingChanged = await shop.watch();
    const old = await fetch(new URL(first.headers.get('location') ?? '', first.url));
    expect([old.status, await old.text()]).toEqual([404, expect.not.stringContaining(order.id) as unknown]);
    expect((await send('success', order.fields)).status).toBe(303);
    await nothingChanged();
    expect(await namesOf(order.id)).toEqual(['payment.succeeded']);
  });
});
