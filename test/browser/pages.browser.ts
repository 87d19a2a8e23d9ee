import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { PRODUCTS } from '../../apps/shop/src/pages/products.js';
import { until } from '../support/until.js';
import { lookAt, type Place } from './support/look.js';
import { CARDS, createBill, openWorld, payWith, type World } from './support/world.js';

let world: World;
let places: Place[];
beforeAll(async () => {
  world = await openWorld();
  places = await preparePlaces();
}, 120_000);
afterAll(() => world.close());
afterEach(async () => {
  expect(await world.problems()).toEqual([]);
});

const NAMES = [
  'shop-products',
  'shop-products-euro',
  'shop-orders',
  'shop-order-pending',
  'shop-order-paid',
  'shop-order-failed',
  'shop-result-paid',
  'shop-result-failed',
  'shop-not-found',
  'pay-link',
  'pay-card',
  'pay-card-wrong',
  'pay-commission',
  'pay-processing',
  'pay-success',
  'pay-failure',
  'pay-paid',
  'pay-unknown',
  'pay-blocked',
  'console-bills',
  'console-bill',
  'console-requests',
  'console-request',
  'console-change-and-replay',
  'console-faults',
  'console-clock',
  'console-shops',
  'console-shop',
  'console-not-found',
];

test.each(NAMES)('the page %s looks right in every layout', async (name) => {
  await lookAt(
    world,
    places.find((each) => each.name === name)!,
  );
});

async function preparePlaces(): Promise<Place[]> {
  const { sandbox, shopUrl, sandboxUrl, harness } = world;
  const buy = (amount: string, shop: 'main' | 'eu' = 'main') => {
    const description = PRODUCTS.find(({ prices }) => prices[shop] === amount)!.name;
    return harness.buy({ amount, shop, description });
  };
  const settled = (id: string) =>
    until(
      () => harness.order(id),
      ({ status }) => status !== 'pending',
    );

  const paid = await buy('7450.50');
  await payBy(paid.payUrl, CARDS.good);
  await settled(paid.id);
  const told = await buy('5290.00');
  await payBy(told.payUrl, CARDS.good);
  await settled(told.id);
  const failed = await buy('79.50', 'eu');
  const failure = await sandbox.pay(failed.billId, { card: CARDS.bad });
  await settled(failed.id);
  const open = await buy('1890.00');
  const processing = await buy('640.00');
  const { payment: slow } = await sandbox.pay(processing.billId, { card: '4000 0000 0000 3220' });
  await sandbox.putShop('demo-blocked', { apiToken: 'token-of-blocked', name: 'Tea house', commissionPercent: 3.5 });
  const commission = await createBill(world.sandboxUrl, 'token-of-blocked');
  await sandbox.putShop('demo-banned', { apiToken: 'token-of-banned' });
  const blocked = await createBill(world.sandboxUrl, 'token-of-banned');
  await sandbox.putShop('demo-banned', { banned: true });
  await sandbox.forge(paid.billId);
  const lost = await buy('390.00');
  await sandbox.setFaults({ seed: 7, requests: { loseAnswer: 0.1 }, postbacks: { drop: 1 } });
  await sandbox.pay(lost.billId);
  await fetch(`${sandboxUrl}/api/v1/bill/create`, { method: 'POST', body: new URLSearchParams({ amount: '1.005' }) });
  const refused = sandbox.receivedRequests().at(-1)!;
  const [success] = sandbox.bill(paid.billId).payments;
  await until(
    () => harness.ledger(),
    ({ callbacks }) => callbacks.length > 2,
  );

  const transfer = (billId: string, paymentId?: string): string =>
    `${sandboxUrl}/transfer/${billId}${paymentId === undefined ? '' : `/payments/${paymentId}`}`;
  const backToShop = (page: Page) => page.waitForURL(/\/redirect\/payment\/result\//);
  const console = (path: string): string => `${sandboxUrl}/sandbox/console/${path}`;
  return [
    { name: 'shop-products', url: shopUrl },
    { name: 'shop-products-euro', url: `${shopUrl}/?shop=eu` },
    { name: 'shop-orders', url: `${shopUrl}/orders` },
    { name: 'shop-order-pending', url: `${shopUrl}/orders/${open.id}` },
    { name: 'shop-order-paid', url: `${shopUrl}/orders/${paid.id}` },
    { name: 'shop-order-failed', url: `${shopUrl}/orders/${failed.id}` },
    { name: 'shop-result-paid', url: transfer(paid.billId, success!.id), then: backToShop },
    { name: 'shop-result-failed', url: transfer(failed.billId, failure.payment.id), then: backToShop },
    { name: 'shop-not-found', url: `${shopUrl}/orders/00000000-0000-4000-8000-000000000000`, status: 404 },
    { name: 'pay-link', url: `${sandboxUrl}/link/${open.billId}` },
    { name: 'pay-card', url: transfer(open.billId) },
    { name: 'pay-card-wrong', url: transfer(open.billId), then: (page) => payWith(page, '4111 1111 1111 1112') },
    { name: 'pay-commission', url: transfer(commission) },
    { name: 'pay-processing', url: transfer(processing.billId, slow.id) },
    { name: 'pay-success', url: transfer(paid.billId, success!.id), leaves: true },
    { name: 'pay-failure', url: transfer(failed.billId, failure.payment.id), leaves: true },
    { name: 'pay-paid', url: transfer(paid.billId) },
    { name: 'pay-unknown', url: transfer('unknown'), status: 404 },
    { name: 'pay-blocked', url: transfer(blocked), status: 403 },
    { name: 'console-bills', url: `${sandboxUrl}/sandbox` },
    {
      name: 'console-bill',
      url: console(`bills/${told.billId}`),
      then: (page) => page.locator('summary', { hasText: '200' }).first().click(),
    },
    {
      name: 'console-change-and-replay',
      url: console(`bills/${paid.billId}`),
      then: (page) => page.getByText('Change and replay').first().click(),
    },
    { name: 'console-requests', url: console('requests') },
    { name: 'console-request', url: console(`requests/${refused.id}`) },
    {
      name: 'console-faults',
      url: console('faults'),
      then: (page) => page.locator('#postbacks-change').getByText('Settings').click(),
    },
    { name: 'console-clock', url: console('clock') },
    { name: 'console-shops', url: console('shops') },
    { name: 'console-shop', url: console('shops/demo-main') },
    { name: 'console-not-found', url: console('bills/unknown'), status: 404 },
  ];
}

/** As a payer does, so that the timeline has its pages too. */
async function payBy(payUrl: string, card: string): Promise<void> {
  const { page } = await world.visit();
  await page.goto(payUrl);
  await payWith(page, card);
  await page.waitForURL(/\/redirect\/payment\/result\//);
}
