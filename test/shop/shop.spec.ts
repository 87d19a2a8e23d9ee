import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { postForm, postJson, postbackFields } from '../support/http.js';
import { startShops, type ShopHarness } from '../support/shop.js';
import { until } from '../support/until.js';

const TOKEN = 'sandbox-main-token-0123456789abcdef';

let shop: ShopHarness;

describe('the sample shop, two processes on one database', () => {
  beforeAll(async () => {
    shop = await startShops(2);
  });
  afterAll(() => shop.close());

  test('an order is paid only after GET bill/payments said SUCCESS', async () => {
    const { id, billId, payUrl } = await shop.buy({ amount: '100.05' });
    expect(payUrl).toMatch(new RegExp(`/transfer/${billId}$`));
    const hold = shop.sandbox.holdAnswers('payments');
    await shop.sandbox.pay(billId);
    await shop.sandbox.settled();
    await hold.reached();
    expect(await shop.order(id)).toMatchObject({ status: 'pending', events: [] });
    hold.release();
    const order = await until(
      () => shop.order(id),
      ({ status }) => status !== 'pending',
    );
    expect(order).toMatchObject({ status: 'paid', paidAmount: '100.05', events: [{ name: 'payment.succeeded' }] });
  });

  test('an order is not_paid after a failed card, paid after a good one, and stays so after a late FAIL', async () => {
    const { id, billId } = await shop.buy({ amount: '20.00', shop: 'eu' });
    await shop.sandbox.pay(billId, { card: '4000 0000 0000 0002' });
    await until(
      () => shop.order(id),
      ({ status }) => status === 'not_paid',
    );
    await shop.sandbox.pay(billId, { card: '4111 1111 1111 1111' });
    await until(
      () => shop.order(id),
      ({ status }) => status === 'paid',
    );
    await shop.sandbox.pay(billId, { card: '4000 0000 0000 0002' });
    const order = await until(
      () => shop.order(id),
      ({ events }) => events.length === 3,
    );
    expect(order).toMatchObject({ status: 'paid', paidAmount: '20.00' });
  });

  test('an underpaid bill has an open review, and its order is not paid', async () => {
    const { id, billId } = await shop.buy({ amount: '50.00' });
    await shop.sandbox.pay(billId, { amount: '49.99' });
    const { reviews } = await until(shop.ledger, (ledger) => ledger.reviews.some(({ orderId }) => orderId === id));
    expect(reviews[0]).toMatchObject({ orderId: id, reason: 'underpaid', state: 'OPEN' });
    expect(await shop.order(id)).toMatchObject({ status: 'pending', events: [] });
    const page = await until(
      async () => (await fetch(`${shop.urls[0]!}/orders/${id}`)).text(),
      (text) => text.includes('We are checking your payment of 49.99 RUB'),
    );
    expect(page).not.toContain('Pay now');
    await shop.sandbox.pay(billId, { card: '4000 0000 0000 0002' });
    await until(
      () => shop.order(id),
      ({ status }) => status === 'not_paid',
    );
    const after = await (await fetch(`${shop.urls[0]!}/orders/${id}`)).text();
    expect(after).toContain('We are checking your payment of 49.99 RUB');
    expect(after).not.toContain('nothing was taken');
  });

  test('the page of an overpaid order shows what was paid, and what it cost', async () => {
    const { id, billId } = await shop.buy({ amount: '60.00' });
    await shop.sandbox.pay(billId, { amount: '75.50' });
    await until(
      () => shop.order(id),
      ({ status }) => status === 'paid',
    );
    const page = await (await fetch(`${shop.urls[0]!}/orders/${id}`)).text();
    expect([page.includes('75.50'), page.includes('60.00')]).toEqual([true, true]);
  });

  test('a cancelled order cannot be paid, and a payment that comes nevertheless waits for a person', async () => {
    const { id, billId } = await shop.buy({ amount: '30.00' });
    const cancel = () => postJson(`${shop.urls[0]!}/api/orders/${id}/cancel`, {});
    expect([(await cancel()).status, (await cancel()).status]).toEqual([200, 200]);
    const paying = await postForm(`${shop.urls[1]!}/orders/${id}/pay`, {});
    expect([paying.status, paying.headers.get('location')]).toEqual([303, `/orders/${id}`]);
    await shop.sandbox.pay(billId);
    const { reviews } = await until(shop.ledger, (ledger) => ledger.reviews.some(({ orderId }) => orderId === id));
    expect(reviews[0]).toMatchObject({ orderId: id, reason: 'order-cancelled', state: 'OPEN' });
    expect(await shop.order(id)).toMatchObject({ status: 'cancelled', events: [] });
    const page = await (await fetch(`${shop.urls[0]!}/orders/${id}`)).text();
    expect(page).toContain('Cancelled');
    expect(page).not.toContain('<button');
  });

  test('a paid order cannot be cancelled', async () => {
    const { id, billId } = await shop.buy({ amount: '31.00' });
    await shop.sandbox.pay(billId);
    await until(
      () => shop.order(id),
      ({ status }) => status === 'paid',
    );
    expect((await postJson(`${shop.urls[0]!}/api/orders/${id}/cancel`, {})).status).toBe(409);
    expect(await shop.order(id)).toMatchObject({ status: 'paid' });
  });

  test('two hundred copies of one postback at both processes make one event and one order update', async () => {
    const { id, billId } = await shop.buy({ amount: '77.00' });
    await shop.sandbox.setFaults({ postbacks: { drop: 1 } });
    await shop.sandbox.pay(billId);
    await shop.sandbox.clearFaults();
    const body = postbackFields({ InvId: id, OutSum: '77.00', TrsId: billId }, TOKEN);
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, copy) => postJson(`${shop.urls[copy % 2]!}/postback/payment`, body)),
    );
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    await until(
      () => shop.order(id),
      ({ status }) => status === 'paid',
    );
    // Again: only one copy can match the payment, so the list is read again for the others.
    const { callbacks, events } = await until(shop.ledger, (ledger) => ledger.callbacks.some(({ asks }) => asks > 1));
    // All are answered. Beyond the maximum kept for a bill, a callback that claims nothing new is only counted.
    const kept = callbacks.filter((callback) => callback.billId === billId).length;
    expect(kept >= 100 && kept <= 200).toBe(true);
    expect(events.filter(({ orderId }) => orderId === id)).toMatchObject([{ deliveries: [{ state: 'DONE' }] }]);
    expect((await shop.order(id)).events.length).toBe(1);
  });

  test('an order whose price grew after its bill was made is not marked as paid', async () => {
    const { id, billId } = await shop.buy({ amount: '10.00' });
    await shop.database(`UPDATE shop_order SET amount = 25.00 WHERE id = '${id}'`);
    await shop.sandbox.pay(billId);
    const order = await until(
      () => shop.order(id),
      ({ events }) => events.length === 1,
    );
    expect(order).toMatchObject({
      status: 'pending',
      note: 'The bill was for 10.00 RUB, but the order costs 25.00 RUB.',
    });
  });

  test("the pages of products, orders and the list load, and escape a payer's text", async () => {
    const url = shop.urls[0]!;
    const bought = await postForm(`${url}/buy`, { product: 'cup', shop: 'eu' });
    expect([bought.status, bought.headers.get('location')]).toEqual([303, expect.stringContaining('/transfer/')]);
    const { id } = await shop.buy({ amount: '1.00' });
    await postJson(`${url}/api/orders`, { amount: '1.00', description: '<script>alert(1)</script>' });
    for (const path of ['/', '/orders', `/orders/${id}`, '/assets/style.css', '/assets/live.js']) {
      expect((await fetch(url + path)).status).toBe(200);
    }
    const list = await (await fetch(`${url}/orders`)).text();
    expect(list).toContain('&#60;script&#62;');
    expect(list).not.toContain('<script>');
  });

  test('a form sent twice makes one order and one bill, and after the payment a new one', async () => {
    const url = shop.urls[0]!;
    const page = await (await fetch(`${url}/?shop=main`)).text();
    const order = /name="order" value="([\da-f-]{36})"/.exec(page)![1]!;
    const buy = async (product: string) =>
      (await postForm(`${url}/buy`, { product, shop: 'main', order })).headers.get('location')!;
    const [first, second] = await Promise.all([buy('cup'), buy('cup')]);
    expect(second).toBe(first);
    expect(await buy('beans')).not.toBe(first);
    await shop.sandbox.pay(first.split('/').at(-1)!);
    await until(
      () => shop.order(order),
      ({ status }) => status === 'paid',
    );
    expect(await buy('cup')).not.toBe(first);
  });

  test.each([
    ['a number as amount', { amount: 100.05 }],
    ['no amount', {}],
    ['zero', { amount: '0.00' }],
    ['three decimals', { amount: '1.005' }],
    ['a NUL in the description', { amount: '1.00', description: 'a \0 b' }],
    ['half a surrogate pair', { amount: '1.00', description: '\ud800' }],
    ['a blank description', { amount: '1.00', description: '   ' }],
    ['an unknown shop', { amount: '1.00', shop: 'us' }],
    ['an unknown field', { amount: '1.00', status: 'paid' }],
  ])('an order with %s is answered 400', async (_name, body) => {
    expect((await postJson(`${shop.urls[0]!}/api/orders`, body)).status).toBe(400);
  });

  test('an order whose bill could not be made is kept, and can be paid later', async () => {
    const url = shop.urls[0]!;
    await shop.sandbox.setFaults({ requests: { status500: 1 } });
    const bought = await postForm(`${url}/buy`, { product: 'cup', shop: 'main' });
    const made = await postJson(`${url}/api/orders`, { amount: '1.00', shop: null });
    await shop.sandbox.clearFaults();
    expect(made.status).toBe(502);
    const { id, code } = (await made.json()) as { id: string; code: string };
    expect([code, await shop.order(id)]).toEqual(['unknown-outcome', expect.objectContaining({ status: 'pending' })]);
    expect([bought.status, bought.headers.get('location')]).toEqual([
      303,
      expect.stringMatching(/^\/orders\/[\da-f-]{36}$/),
    ]);
    const paid = await postForm(`${url}${bought.headers.get('location')}/pay`, {});
    expect([paid.status, paid.headers.get('location')]).toEqual([303, expect.stringContaining('/transfer/')]);
  });

  test('an unknown order is answered 404, and an invalid id 400', async () => {
    const statuses = [];
    for (const id of ['00000000-0000-4000-8000-000000000000', 'x']) {
      statuses.push((await fetch(`${shop.urls[0]!}/api/orders/${id}`)).status);
    }
    expect(statuses).toEqual([404, 400]);
  });

  test('a payment settles after one of the two processes is killed with -9', async () => {
    const { id, billId } = await shop.buy({ amount: '5.00' });
    shop.processes[1]!.kill('SIGKILL');
    await shop.sandbox.pay(billId);
    await until(
      () => shop.order(id),
      ({ status }) => status === 'paid',
    );
  });
});

test('a shop stops on request despite a busy keep-alive connection', async () => {
  const ending = await startShops(1);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const over = new AbortController();
  const load = (async () => {
    while (!over.signal.aborted) await get(`${ending.urls[0]}/api/orders`, agent);
  })();
  try {
    const [child] = ending.processes;
    const ended = once(child!, 'exit');
    child!.kill('SIGTERM');
    await ended;
  } finally {
    over.abort();
    await load;
    agent.destroy();
    await ending.close();
  }
});

/** One request over the agent's connection; one that is refused is an end as well. */
function get(url: string, agent: Agent): Promise<void> {
  return new Promise((resolve) => {
    request(url, { agent }, (response) => response.resume().once('close', resolve))
      .once('error', () => resolve())
      .end();
  });
}
