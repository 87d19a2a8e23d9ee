// npm run demo: one successful and one failed payment, over real HTTP, as a browser would make them.
import './lib/node-version.mjs';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Browser } from './lib/browser.mjs';
import { beforeExit, command, CommandError } from './lib/lifecycle.mjs';
import { freePort } from './lib/free-port.mjs';
import { startTemporaryPostgres } from './lib/postgres.mjs';
import { prepare } from './lib/prepare.mjs';
import { address, endTogether, startSandbox, startShop, withSandboxOnly } from './lib/servers.mjs';
import { say, Steps, table } from './lib/steps.mjs';
import { argumentsOf } from './lib/usage.mjs';

argumentsOf(
  'npm run demo\n\nOne successful and one failed payment through all parts, each step with its time. Takes no port for itself.',
);

/** @typedef {{ id: string; billId: string; status: string; payUrl: string; events: { name: string }[] }} Order */

const payments = [
  { card: '4111 1111 1111 1111', wanted: 'paid' },
  { card: '4000 0000 0000 0002', wanted: 'not_paid' },
];

withSandboxOnly();

await command(async () => {
  await prepare();
  const shop = await startAll();
  const runs = [];
  for (const payment of payments) runs.push(await buy(shop, payment));
  table(runs);
  const right = runs.every((run) => run.right);
  const wanted = right ? '' : `, not ${payments.map((payment) => payment.wanted).join(' and ')}`;
  say(`\nThe orders ended ${runs.map(({ ended }) => ended).join(' and ')}${wanted}.`);
  return right ? 0 : 1;
});

async function startAll() {
  const data = fs.mkdtempSync(path.join(os.tmpdir(), 'nest-payment-acceptance-demo-'));
  beforeExit(() => fs.rmSync(data, { recursive: true, force: true }));
  const [database, sandboxPort, shopPort] = await Promise.all([startTemporaryPostgres(), freePort(), freePort()]);
  const sandbox = await startSandbox({ port: sandboxPort, shopPort, data });
  const shop = await startShop({
    port: shopPort,
    sandboxPort,
    databaseUrl: database.url,
    sandboxUrl: address(sandboxPort),
  });
  endTogether([{ ...database, name: 'database' }, sandbox, shop]);
  return address(shopPort);
}

/**
 * Buys and pays, step by step, and sees how the order ends.
 * @param {string} shop
 * @param {{ card: string; wanted: string }} payment
 */
async function buy(shop, { card, wanted }) {
  const steps = new Steps(`A payment with ${card}, which should end ${wanted}`);
  const order = await steps.step('Shop makes the order and its bill', async () => {
    const made = await postOrder(shop);
    return [`bill ${made.billId} of order ${made.id}, ${made.status}`, made];
  });

  const browser = new Browser();
  await steps.step('Payer opens the payment page', async () => {
    await browser.open(order.payUrl);
    return [shown(browser)];
  });
  const [form, ...others] = browser.forms.filter(({ fields }) =>
    fields.some((field) => field.autocomplete === 'cc-number'),
  );
  if (!form || others.length > 0) throw new CommandError(`No card form at ${order.payUrl}:\n${browser.page.html}`);
  await steps.step('Payer sends the card', async () => {
    await browser.submit(form, fillIn(form, card));
    return [shown(browser)];
  });
  await steps.step('Service processes the payment', async () => {
    while (await browser.refresh());
    return [shown(browser)];
  });

  const [back] = browser.forms.filter(
    ({ fields }) => fields.length > 0 && fields.every(({ type }) => type === 'hidden'),
  );
  if (!back) throw new CommandError(`No way back to the shop on the result page:\n${browser.page.html}`);
  await steps.step('Payer is posted back to the shop', async () => {
    await browser.submit(back); // the page's script does it
    return [`${new URL(back.action).pathname}: ${shown(browser)}`];
  });

  const { status: ended } = await steps.step('Shop has the event', async () => {
    const end = await settledOrder(shop, order.id);
    return [`${end.status} (${end.events.map(({ name }) => name).join(', ') || 'no event'})`, end];
  });
  return { steps, title: card, totalMs: steps.totalMs, ended, right: ended === wanted };
}

/**
 * @param {string} shop
 * @returns {Promise<Order>}
 */
async function postOrder(shop) {
  const response = await fetch(`${shop}/api/orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ amount: '100.05', description: 'Demo' }),
    signal: AbortSignal.timeout(10_000),
  });
  if (response.status !== 201) throw new CommandError(`POST /api/orders: ${response.status} ${await response.text()}`);
  return /** @type {Promise<Order>} */ (response.json());
}

/**
 * The order once it is no longer pending, or as it is after ten seconds.
 * @param {string} shop
 * @param {string} id
 * @returns {Promise<Order>}
 */
async function settledOrder(shop, id) {
  for (const end = Date.now() + 10_000; ; await sleep(50)) {
    const response = await fetch(`${shop}/api/orders/${id}`, { signal: AbortSignal.timeout(5_000) });
    const order = /** @type {Order} */ (await response.json());
    if (order.status !== 'pending' || Date.now() > end) return order;
  }
}

/**
 * By what the fields are for, as a browser's form filler does.
 * @param {import('./lib/browser.mjs').Form} form
 * @param {string} card
 */
function fillIn(form, card) {
  /** @type {Record<string, string>} */
  const known = { 'cc-number': card, 'cc-exp': `12/${(new Date().getFullYear() + 1) % 100}`, 'cc-csc': '123' };
  return Object.fromEntries(
    form.fields.flatMap(({ name, autocomplete = '' }) => (autocomplete in known ? [[name, known[autocomplete]]] : [])),
  );
}

/** @param {Browser} browser */
function shown({ page, heading }) {
  return `${page.status} "${heading}"`;
}
