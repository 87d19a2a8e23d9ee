import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { until } from '../support/until.js';
import { aDay } from './support/day.js';
import { lookAt, type Place } from './support/look.js';
import { lostAnswer, refusedByHandler, underpaid } from './support/troubles.js';
import { openWorld, type World } from './support/world.js';

let world: World;
let places: Place[] = [];
beforeAll(async () => {
  world = await openWorld();
}, 120_000);
afterAll(() => world.close());
afterEach(async () => {
  expect(await world.problems()).toEqual([]);
});

const NAMES = [
  'operator-overview',
  'operator-overview-table',
  'operator-bills',
  'operator-bill',
  'operator-bill-unknown',
  'operator-bill-dead',
  'operator-reviews',
  'operator-dead-letters',
  'operator-unknown',
  'operator-log',
  'operator-question',
  'operator-refused',
  'operator-not-found',
];

test.each([
  ['operator-overview-calm', ''],
  ['operator-nothing', '/reviews'],
])('the operator page %s looks right in every layout, before anything happened', async (name, path) => {
  await lookAt(world, { name, url: `${world.shopUrl}/payment-console${path}` });
});

test('a day with all that can go wrong is prepared for the operator pages', async () => {
  places = await preparePlaces();
});

test.each(NAMES)('the operator page %s looks right in every layout', async (name) => {
  await lookAt(
    world,
    places.find((each) => each.name === name)!,
  );
});

async function preparePlaces(): Promise<Place[]> {
  const { harness, sandbox, shopUrl } = world;
  const at = (path = ''): string => `${shopUrl}/payment-console${path}`;
  await aDay(world);
  const accepted = await underpaid(world, '79.00', '75.00');
  await accept(accepted.order);
  const review = await underpaid(world);
  await sandbox.forge(review.bill);
  const lost = await lostAnswer(world);
  await sandbox.pay(lost.bill);
  const dead = await refusedByHandler(world);
  await refusedByHandler(world, 'tried');
  const paid = await harness.buy({ amount: '7450.50', description: 'Hand grinder' });
  await sandbox.pay(paid.billId, { card: '4000 0000 0000 0002' });
  await until(
    () => harness.order(paid.id),
    ({ status }) => status === 'not_paid',
  );
  await sandbox.forge(paid.billId);
  await sandbox.pay(paid.billId);
  await until(
    () => harness.order(paid.id),
    ({ status }) => status === 'paid',
  );
  const { bills } = await harness.ledger();
  const intent = bills.find(({ orderId }) => orderId === paid.id)!.intentId;
  return [
    { name: 'operator-overview', url: at() },
    {
      name: 'operator-overview-table',
      url: at(),
      then: (page) => page.getByText('As a table').first().click(),
    },
    { name: 'operator-bills', url: at('/bills') },
    {
      name: 'operator-bill',
      url: at(`/bills/${intent}`),
      then: (page) => page.getByText('What it said').first().click(),
    },
    { name: 'operator-bill-unknown', url: at(`/bills/${lost.intent}`) },
    { name: 'operator-bill-dead', url: at(`/bills/${dead.intent}`) },
    { name: 'operator-reviews', url: at('/reviews') },
    { name: 'operator-dead-letters', url: at('/dead-letters') },
    { name: 'operator-unknown', url: at('/unknown-outcomes') },
    { name: 'operator-lost-bills', url: at('/lost-bills') },
    { name: 'operator-log', url: at('/log') },
    { name: 'operator-question', url: at(`/actions/attach-bill/${lost.intent}`) },
    {
      name: 'operator-refused',
      url: at(`/actions/attach-bill/${lost.intent}`),
      status: 409,
      async then(page) {
        await page.getByLabel('Bill id').fill('no-such-bill');
        await page.getByRole('button', { name: 'Attach' }).click();
        await page.getByRole('alert').waitFor();
      },
    },
    { name: 'operator-not-found', url: at('/bills/unknown'), status: 404 },
  ];
}

/** As an operator does, so that the log has something. */
async function accept(order: string): Promise<void> {
  const { page } = await world.visit();
  await page.goto(`${world.shopUrl}/payment-console/reviews`);
  await page.getByRole('link', { name: `Accept… the review of order ${order}` }).click();
  await page.getByLabel('Note').fill('The voucher made up for the rest.');
  await page.getByRole('button', { name: 'Accept' }).click();
  await page.getByRole('status').waitFor();
}
