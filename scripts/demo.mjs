// npm run demo: one successful and one failed payment, over real HTTP, as a browser would make them.
import './lib/node-version.mjs';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Browser } from './lib/browser.mjs';
import { beforeExit, command, CommandError } from './lib/lifecycle.mjs';
import { freePort } from './lib/ports.mjs';
import { startTemporaryPostgres } from './lib/postgres.mjs';
import { prepare } from './lib/prepare.mjs';
import { address, endTogether, startSandbox, startShop } from './lib/servers.mjs';

const payments = [
  { card: '4111 1111 1111 1111', wanted: 'paid' },
  { card: '4000 0000 0000 0002', wanted: 'not_paid' },
];

process.env.NODE_ENV = 'development'; // with the sandbox it is nothing else, whatever the shell says

await command(async () => {
  await prepare();
  const shop = await startAll();
  const seen = [];
  for (const payment of payments) seen.push(await buy(shop, payment));
  const right = payments.every(({ wanted }, index) => seen[index] === wanted);
  console.log(
    `\nThe orders ended ${seen.join(' and ')}${right ? '' : `, not ${payments.map((p) => p.wanted).join(' and ')}`}.`,
  );
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

/** Buys and pays; gives the status that the order ends with. Every step is a line with its time. */
async function buy(shop, { card, wanted }) {
  console.log(`\nA payment with ${card}, which should end ${wanted}:`);
  const step = timeline();
  const order = await postOrder(shop);
  step(`order ${order.id} is ${order.status}, bill ${order.billId}`);

  const browser = new Browser();
  await browser.open(order.payUrl);
  step(`GET ${order.payUrl}: ${shown(browser)}`);
  const [form, ...others] = browser.forms.filter(({ fields }) =>
    fields.some((field) => field.autocomplete === 'cc-number'),
  );
  if (!form || others.length > 0) throw new CommandError(`No card form at ${order.payUrl}:\n${browser.page.html}`);
  await browser.submit(form, fillIn(form, card));
  step(`POST the card: ${shown(browser)}`);
  while (await browser.refresh()) step(`the page goes on: ${shown(browser)}`);

  const [back] = browser.forms.filter(
    ({ fields }) => fields.length > 0 && fields.every(({ type }) => type === 'hidden'),
  );
  if (!back) throw new CommandError(`No way back to the shop on the result page:\n${browser.page.html}`);
  await browser.submit(back); // the page's script does it
  step(`POST ${back.action}, shown in the end: ${browser.page.url}: ${shown(browser)}`);

  const end = await settledOrder(shop, order.id);
  const events = end.events.map(({ name }) => name).join(', ') || 'no event';
  step(`GET /api/orders/${order.id}: ${end.status} (${events})`);
  return end.status;
}

async function postOrder(shop) {
  const response = await fetch(`${shop}/api/orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ amount: '100.05', description: 'Demo' }),
    signal: AbortSignal.timeout(10_000),
  });
  if (response.status !== 201) throw new CommandError(`POST /api/orders: ${response.status} ${await response.text()}`);
  return response.json();
}

/** The order once it is no longer pending, or as it is after ten seconds. */
async function settledOrder(shop, id) {
  for (const end = Date.now() + 10_000; ; await sleep(50)) {
    const order = await (await fetch(`${shop}/api/orders/${id}`, { signal: AbortSignal.timeout(5_000) })).json();
    if (order.status !== 'pending' || Date.now() > end) return order;
  }
}

/** By what the fields are for, as a browser's form filler does. */
function fillIn(form, card) {
  const known = { 'cc-number': card, 'cc-exp': `12/${(new Date().getFullYear() + 1) % 100}`, 'cc-csc': '123' };
  const fields = form.fields.filter(({ autocomplete }) => autocomplete in known);
  return Object.fromEntries(fields.map(({ name, autocomplete }) => [name, known[autocomplete]]));
}

function shown({ page, heading }) {
  return `${page.status} "${heading}"`;
}

function timeline() {
  const start = performance.now();
  let last = start;
  return (text) => {
    const now = performance.now();
    console.log(`${milliseconds(now - start)}  (+${milliseconds(now - last)})  ${text}`);
    last = now;
  };
}

function milliseconds(time) {
  return `${time.toFixed(0).padStart(5)} ms`;
}
