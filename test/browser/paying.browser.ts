import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { until } from '../support/until.js';
import { PHONE } from './support/chromium.js';
import { buy, CARDS, createBill, openWorld, payWith, type World } from './support/world.js';

/** What a test needs of an input element. */
interface Field {
  selectionStart: number;
  setSelectionRange(start: number, end: number): void;
}

let world: World;
beforeAll(async () => {
  world = await openWorld(2);
});
afterAll(() => world.close());
afterEach(async () => {
  expect(await world.problems()).toEqual([]);
});

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name });
const billOf = (page: Page): string => new URL(page.url()).pathname.split('/')[2]!;
const tag = (page: Page, text: string) => page.locator('.tag', { hasText: text });

/** From the result page to the order. */
async function toOrder(page: Page): Promise<string> {
  await page.getByRole('link', { name: 'View your order' }).click();
  await page.waitForURL(/\/orders\/[\w-]+$/);
  return page.url().split('/').at(-1)!;
}

describe('buying and paying', () => {
  test.each([
    ['₽ RUB', '7\u202f450.50\u00a0₽'],
    ['€ EUR', '79.50\u00a0€'],
  ] as const)(
    'a buyer pays an order in %s, from the products by the payment page to a paid order',
    async (currency, price) => {
      const { page } = await world.visit();
      await buy(page, world.shopUrl, 'Hand grinder', currency);
      await payWith(page, CARDS.good);
      await heading(page, 'Payment received').waitFor();
      const id = await toOrder(page);
      await tag(page, 'Paid').waitFor();
      await page.getByText(price).first().waitFor();
      expect(await world.harness.order(id)).toMatchObject({ status: 'paid', events: [{ name: 'payment.succeeded' }] });
      await page.getByRole('link', { name: 'Orders', exact: true }).click();
      await page
        .locator('li', { has: page.locator(`[href="/orders/${id}"]`) })
        .getByText('Paid')
        .waitFor();
    },
  );

  test('an order whose payment failed is paid again with another card', async () => {
    const { page } = await world.visit();
    await buy(page, world.shopUrl, 'Cup', '₽ RUB');
    await payWith(page, CARDS.bad);
    await heading(page, 'Payment failed').waitFor();
    const id = await toOrder(page);
    await tag(page, 'Not paid').waitFor();
    await page.getByRole('button', { name: 'Pay again' }).click();
    await payWith(page, CARDS.good);
    await heading(page, 'Payment received').waitFor();
    expect(await toOrder(page)).toBe(id);
    await page.getByText('Payment failed').waitFor();
    await page.getByText('Payment received').waitFor();
    expect(await world.harness.order(id)).toMatchObject({ status: 'paid', events: [{}, {}] });
  });

  test('an open order page shows the payment by itself, also when another instance took it', async () => {
    const { page } = await world.visit();
    const { id, billId } = await world.harness.buy({ amount: '12.00' });
    await page.goto(`${world.harness.urls[1]!}/orders/${id}`);
    await tag(page, 'Waiting for payment').waitFor();
    await page.evaluate(`window.notReloaded = true`);
    await world.sandbox.pay(billId);
    await tag(page, 'Paid').waitFor();
    expect(await page.evaluate(`window.notReloaded`)).toBe(true);
  });

  test('a mistake in the payment form is explained beside its field, and a test card fills in the form', async () => {
    const { page } = await world.visit();
    await buy(page, world.shopUrl, 'Cup', '₽ RUB');
    const card = page.getByLabel('Card number');
    await card.pressSequentially('4111111111111112');
    await card.press('Tab');
    expect(await card.inputValue()).toBe('4111 1111 1111 1112');
    await page.getByText('This is not a card number').waitFor();
    expect(await card.getAttribute('aria-describedby')).toBe('card-error');
    // The caret stays behind the digit that it was behind.
    await card.focus();
    await card.evaluate((input) => (input as unknown as Field).setSelectionRange(5, 5));
    await card.press('Backspace');
    expect(await card.inputValue()).toBe('4111 1111 1111 1112');
    await card.press('Backspace');
    expect(await card.inputValue()).toBe('4111 1111 1111 112');
    expect(await card.evaluate((input) => (input as unknown as Field).selectionStart)).toBe(3);
    await page.getByLabel('Month / year').pressSequentially('940');
    expect(await page.getByLabel('Month / year').inputValue()).toBe('09/40');
    await page.getByRole('button', { name: /^Pay/ }).click();
    await page.getByText('Enter the three or four digits').waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('card');
    await page.getByRole('link', { name: CARDS.good }).click();
    expect(await page.locator('.error').count()).toBe(0);
    await page.keyboard.press('Enter');
    await heading(page, 'Payment received').waitFor();
  });
});

describe('reload and back at every step', () => {
  test('reloading and going back at every step pays nothing twice, and leads to no dead end', async () => {
    const { page } = await world.visit();
    await buy(page, world.shopUrl, 'Dripper', '₽ RUB');
    const billId = billOf(page);
    await page.reload();
    await heading(page, 'Pay by card').waitFor();
    await page.goBack();
    await heading(page, 'Good coffee, made at home').waitFor();
    await page.goForward();
    await heading(page, 'Pay by card').waitFor();

    await page.getByRole('link', { name: '4000 0000 0000 3220' }).click();
    await page.getByRole('button', { name: /^Pay/ }).click();
    await heading(page, 'Processing the payment').waitFor();
    await page.reload();
    await heading(page, 'Processing the payment').waitFor();
    await page.goBack();
    // The card form, from the browser's memory or anew: a payment is under way, so it takes no other.
    if (await heading(page, 'Pay by card').isVisible()) await payWith(page, CARDS.good);
    await heading(page, 'Processing the payment').waitFor();
    const [payment, ...others] = world.sandbox.bill(billId).payments;
    expect(others).toEqual([]);

    await world.sandbox.complete(payment!.id, { outcome: 'success' });
    await heading(page, 'Payment received').waitFor();
    const result = page.url();
    await page.reload();
    await heading(page, 'Payment received').waitFor();
    expect(page.url()).toBe(result);
    await page.goBack();
    // The result page's script does not send the payer on again.
    await page.waitForURL((url) => url.href !== result);
    await page.goto(`${world.sandboxUrl}/transfer/${billId}`);
    await heading(page, 'This bill is paid').waitFor();
    await page.getByRole('link', { name: 'Return to the shop' }).click();
    await heading(page, 'Payment received').waitFor();
    await toOrder(page);
    await page.reload();
    await tag(page, 'Paid').waitFor();
    await page.goBack();
    await heading(page, 'Payment received').waitFor();
    expect(world.sandbox.bill(billId).payments).toHaveLength(1);
  });
});

describe('two tabs on one bill', () => {
  test('a bill that is open in two tabs is paid once, and the other tab says that it is paid', async () => {
    const visitor = await world.visit();
    const { page } = visitor;
    await buy(page, world.shopUrl, 'Cup', '€ EUR');
    const billId = billOf(page);
    const other = await visitor.newTab();
    await other.goto(page.url());
    await payWith(page, CARDS.good);
    await payWith(other, CARDS.good);
    await heading(page, 'Payment received').waitFor();
    // The second tab came while the first payment was under way, or after it: either way it ends at the same result.
    if (await heading(other, 'This bill is paid').isVisible()) {
      await other.getByRole('link', { name: 'Return to the shop' }).click();
    }
    await heading(other, 'Payment received').waitFor();
    expect(world.sandbox.bill(billId).payments).toHaveLength(1);
  });
});

describe('without script', () => {
  test.each([
    [CARDS.good, 'Payment successful', 'Payment received', 'Paid'],
    [CARDS.bad, 'Payment failed', 'Payment failed', 'Not paid'],
  ])('paying with %s works without script, by links and buttons', async (card, result, message, state) => {
    const visitor = await world.visit({ javaScriptEnabled: false });
    const { page } = visitor;
    await buy(page, world.shopUrl, 'Paper filters', '₽ RUB');
    visitor.expected = [422];
    await payWith(page, '4111 1111 1111 1112');
    await page.getByText('This is not a card number').waitFor();
    visitor.expected = [];
    await page.getByRole('link', { name: card }).click();
    await page.getByRole('button', { name: /^Pay/ }).click();
    await heading(page, result).waitFor(); // by way of the processing page, which loads itself anew
    await page.getByRole('button', { name: 'Return to the shop' }).click();
    await heading(page, message).waitFor();
    await toOrder(page);
    await tag(page, state).waitFor();
  });
});

describe('with the keyboard alone', () => {
  test('an order is bought and paid with Tab and Enter alone, in a phone-sized window', async () => {
    const { page } = await world.visit({ viewport: PHONE.viewport });
    await page.goto(world.shopUrl);
    const tabTo = async (name: string): Promise<void> => {
      for (let presses = 0; presses < 40; presses += 1) {
        await page.keyboard.press('Tab');
        const focused = `(({ activeElement: at }) =>
          at.getAttribute('aria-label') ?? at.labels?.[0]?.textContent ?? at.textContent)(document)`;
        if ((await page.evaluate<string>(focused)).trim().startsWith(name)) return;
      }
      throw new Error(`Tab never comes to "${name}"`);
    };
    await tabTo('Buy: Cup');
    await page.keyboard.press('Enter');
    await heading(page, 'Pay by card').waitFor();
    await tabTo('Card number');
    await page.keyboard.type('4111111111111111');
    await tabTo('Month / year');
    await page.keyboard.type('1240');
    await tabTo('Security code');
    await page.keyboard.type('123');
    await page.keyboard.press('Enter');
    await heading(page, 'Payment received').waitFor();
    await tabTo('View your order');
    await page.keyboard.press('Enter');
    await tag(page, 'Paid').waitFor();
  });
});

test('an unknown bill, a paid one and a blocked shop each get a page that says so', async () => {
  const visitor = await world.visit();
  const { page } = visitor;
  const { billId, id } = await world.harness.buy({ amount: '3.00' });
  visitor.expected = [404, 403];
  await page.goto(`${world.sandboxUrl}/transfer/unknown`);
  await heading(page, 'No such bill').waitFor();
  // Of a shop of its own: the sample shop's bills would wait for a minute once it has been refused.
  await world.sandbox.putShop('demo-banned', { apiToken: 'token-of-banned' });
  const blocked = await createBill(world.sandboxUrl, 'token-of-banned');
  await world.sandbox.putShop('demo-banned', { banned: true });
  await page.goto(`${world.sandboxUrl}/transfer/${blocked}`);
  await heading(page, 'Payment not possible').waitFor();
  await world.sandbox.pay(billId);
  await page.goto(`${world.sandboxUrl}/link/${billId}`);
  await heading(page, 'This bill is paid').waitFor();
  await until(
    () => world.harness.order(id),
    ({ status }) => status === 'paid',
  );
});
