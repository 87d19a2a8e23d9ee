import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { until } from '../support/until.js';
import { PHONE, type Visitor } from './support/chromium.js';
import { lostAnswer, refusedByHandler, underpaid } from './support/troubles.js';
import { openWorld, type World } from './support/world.js';

let world: World;
let visitor: Visitor;
let page: Page;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  visitor = await world.visit();
  ({ page } = visitor);
});
afterEach(async () => {
  await world.sandbox.clearFaults();
  expect(await world.problems()).toEqual([]);
});

const openConsole = (path = '') => page.goto(`${world.shopUrl}/payment-console${path}`);
const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name });
const status = (text: string | RegExp) => page.getByRole('status').filter({ hasText: text });
const entry = (text: string | RegExp) => page.locator('.timeline > li', { hasText: text });
const becomes = (order: string, wanted: 'paid' | 'pending') =>
  until(
    () => world.harness.order(order),
    (found) => found.status === wanted,
  );

test('an operator accepts a review, from the footer of the shop to a paid order', async () => {
  const { order, bill } = await underpaid(world);
  await page.goto(world.shopUrl);
  await page.getByRole('link', { name: 'Payment console' }).click();
  await page.getByText('1 thing needs attention.').waitFor();
  await page.getByRole('link', { name: 'Open reviews' }).click();
  await page.getByText('A successful payment of less than the amount billed.').waitFor();
  await page.getByText('SUCCESS, 1800.00 RUB').waitFor();
  await page.getByRole('link', { name: `Accept… the review of order ${order}` }).click();
  await heading(`Accept the review of order ${order}?`).waitFor();
  expect((await world.harness.order(order)).status).toBe('pending');
  await page.getByLabel('Note').fill('the voucher made up for the rest');
  await page.getByRole('button', { name: 'Accept' }).click();
  await status('The review was accepted.').waitFor();
  await page.getByText('There are no open reviews.').waitFor();

  // The operator has judged the money: the order is paid, and says how much came.
  expect(await becomes(order, 'paid')).toMatchObject({ paidAmount: '1800.00', note: null });
  await page.getByRole('link', { name: 'See the bill' }).click();
  await entry(/developer accepted the review underpaid.*the voucher made up for the rest/s).waitFor();
  await entry('Event payment.succeeded').getByText('delivered').waitFor();
  await page.getByText(bill, { exact: true }).last().waitFor();
  await page.getByRole('link', { name: 'Log', exact: true }).click();
  await page.getByRole('row', { name: /developer accepted the review underpaid/ }).waitFor();

  await page.goBack();
  await heading(`Order ${order}`).waitFor();
  visitor.expected = [409];
  await page.goBack(); // to the reviews
  await page.goBack(); // to the question, which is answered
  await page.reload();
  await heading('Nothing to do').waitFor();
  expect((await world.harness.order(order)).events).toHaveLength(1);
});

test('a review is dismissed, and nothing else happens', async () => {
  const { order, intent } = await underpaid(world);
  await openConsole(`/bills/${intent}`);
  await page.getByRole('link', { name: /^Dismiss…/ }).click();
  await page.getByRole('button', { name: 'Dismiss' }).click();
  await status('The review was dismissed.').waitFor();
  expect(await world.harness.order(order)).toMatchObject({ status: 'pending', events: [] });
});

test('a dead letter is replayed once its cause is gone, and the order is paid', async () => {
  const { order, intent, mend } = await refusedByHandler(world);
  await openConsole();
  await page.getByRole('link', { name: 'Dead letters' }).last().click();
  await page.getByRole('row', { name: new RegExp(`${order}.*payment.succeeded.*refused_`, 's') }).waitFor();
  await mend();
  await page.getByRole('link', { name: `Replay… payment.succeeded of order ${order}` }).click();
  await page.getByLabel('Note').fill('the rule is gone');
  await page.getByRole('button', { name: 'Replay' }).click();
  await status('1 dead letter is being retried.').waitFor();
  await becomes(order, 'paid');
  await openConsole(`/bills/${intent}`);
  await entry('Event payment.succeeded').getByText('delivered').waitFor();
  await entry(/developer replayed dead letter/).waitFor();
});

describe('an unknown outcome', () => {
  test('an unknown outcome is attached to the bill that the service has, and settles like any other', async () => {
    const { order, bill } = await lostAnswer(world);
    await world.sandbox.pay(bill);
    await openConsole();
    await page.getByRole('link', { name: 'Unknown outcomes' }).last().click();
    // The postback of the unknown bill waits there as well, because it names the bill.
    await page.getByRole('row', { name: bill }).waitFor();
    await page.getByRole('link', { name: `Attach… the bill of order ${order}` }).click();
    await page.getByLabel('Bill id').fill(bill);
    await page.getByRole('button', { name: 'Attach' }).click();
    await status('The bill was attached.').waitFor();
    await becomes(order, 'paid');
  });

  test('an unknown outcome without a bill is voided, and the order can be paid with another bill', async () => {
    const { order, intent } = await lostAnswer(world);
    await openConsole(`/bills/${intent}`);
    await page.getByRole('heading', { name: 'Did the service create this bill?' }).waitFor();
    await page.getByRole('link', { name: /^Void…/ }).click();
    await page.getByRole('button', { name: 'Void' }).click();
    await status('The attempt was voided.').waitFor();
    await page.goto(`${world.shopUrl}/orders/${order}`);
    await page.getByRole('button', { name: 'Pay now' }).click();
    await page
      .getByRole('heading', { name: 'Payment link' })
      .or(page.getByRole('heading', { name: 'Pay by card' }))
      .first()
      .waitFor();
  });

  test('attaching an unknown bill is refused, changes nothing, and keeps what was typed', async () => {
    const { intent } = await lostAnswer(world);
    visitor.expected = [409];
    await openConsole(`/actions/attach-bill/${intent}`);
    await page.getByLabel('Bill id').fill('no-such-bill');
    await page.getByRole('button', { name: 'Attach' }).click();
    await page.getByRole('alert').filter({ hasText: 'Nothing was changed.' }).waitFor();
    expect(await page.getByLabel('Bill id').inputValue()).toBe('no-such-bill');
  });
});

test('the page of a bill tells its history, and why each callback was taken as it was', async () => {
  const { id, billId } = await world.harness.buy({ amount: '7450.50', description: 'Hand grinder' });
  await world.sandbox.forge(billId);
  await world.sandbox.pay(billId);
  await becomes(id, 'paid');
  await openConsole('/bills');
  await page.getByLabel('Order, bill, payment or intent').fill(billId);
  await page.getByRole('button', { name: 'Find' }).click();
  await page.getByRole('link', { name: id }).click();
  await entry('A bill for 7450.50 RUB was requested').waitFor();
  await entry(/Payment \w+ (seen|became).*SUCCESS/s).waitFor();
  await entry('Event payment.succeeded').getByText('delivered').waitFor();
  const postback = entry('Postback SUCCESS received').first();
  await postback.getByText("Its digest matches the shop's token. That alone proves nothing").waitFor();
  await postback.getByText('What it said').click();
  await postback.getByRole('row', { name: /OutSum 7450.50 7450.50 matches/ }).waitFor();
});

test('the charts are drawn, and each is there as a table', async () => {
  const { id, billId } = await world.harness.buy({ amount: '9.00' });
  await world.sandbox.pay(billId);
  await becomes(id, 'paid');
  await openConsole();
  for (const name of ['Payments by hour', 'From payment to settlement']) {
    const card = page.locator('section.card', { has: page.getByRole('heading', { name }) });
    await card.getByRole('img', { name: `${name}: a chart` }).waitFor();
    expect(await card.locator('svg rect').count()).toBeGreaterThan(0);
    await card.getByText('As a table').click();
    const cells = await card.locator('td.number').allTextContents();
    expect(cells.map(Number).reduce((sum, number) => sum + number, 0)).toBeGreaterThan(0);
  }
});

test('a page of another site, or a request without the CSRF token of the form, can do nothing', async () => {
  const { intent } = await lostAnswer(world);
  const address = `${world.shopUrl}/payment-console/actions/void-bill/${intent}`;
  const body = `<form method="post" action="${address}"><input name="csrf"><button>Win a cup</button></form>`;
  await page.route('http://elsewhere.example/', (route) => route.fulfill({ contentType: 'text/html', body }));
  await page.goto('http://elsewhere.example/');
  visitor.expected = [403];
  await page.getByRole('button').click();
  await page.getByText('The request came from another site. Nothing was changed.').waitFor();
  const sent = await page.request.post(address, { form: {} });
  expect(sent.status()).toBe(403);
  const { bills } = await world.harness.ledger();
  expect(bills.find(({ intentId }) => intentId === intent)!.state).toBe('UNKNOWN');
});

test('an operator accepts a review with the keyboard alone, in a phone-sized window', async () => {
  const { order } = await underpaid(world, '390.00', '380.00');
  await page.setViewportSize(PHONE.viewport);
  await openConsole();
  const tabTo = async (name: string): Promise<void> => {
    for (let presses = 0; presses < 60; presses += 1) {
      await page.keyboard.press('Tab');
      const focused = `(({ activeElement: at }) => at.labels?.[0]?.textContent ?? at.textContent)(document)`;
      if ((await page.evaluate<string>(focused)).trim().startsWith(name)) return;
    }
    throw new Error(`Tab never comes to "${name}"`);
  };
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter'); // over the navigation, to the content
  await tabTo('Open reviews');
  await page.keyboard.press('Enter');
  await heading('Open reviews').waitFor();
  await tabTo(`Accept… the review of order ${order}`);
  await page.keyboard.press('Enter');
  await heading(`Accept the review of order ${order}?`).waitFor();
  await tabTo('Note');
  await page.keyboard.type('enough');
  await page.keyboard.press('Enter');
  await status('The review was accepted.').waitFor();
});

test('the operator pages need no script', async () => {
  const { page: plain } = await world.visit({ javaScriptEnabled: false });
  const { intent } = await lostAnswer(world);
  await plain.goto(`${world.shopUrl}/payment-console/bills/${intent}`);
  expect(await plain.content()).not.toContain('<script');
  await plain.getByRole('link', { name: /^Void…/ }).click();
  await plain.getByRole('button', { name: 'Void' }).click();
  await plain.getByRole('status').filter({ hasText: 'The attempt was voided.' }).waitFor();
});
