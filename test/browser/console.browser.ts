import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { until } from '../support/until.js';
import type { Visitor } from './support/chromium.js';
import { createBill, openWorld, paidOrder, type World } from './support/world.js';

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

const openConsole = (path = ''): Promise<unknown> => page.goto(`${world.sandboxUrl}/sandbox${path}`);
const row = (text: string) => page.getByRole('row', { name: text });
const entries = (text: string | RegExp) => page.locator('#timeline > li', { hasText: text });

describe('bills', () => {
  test('the list of bills follows what happens, without a reload', async () => {
    await openConsole();
    await page.evaluate(`window.notReloaded = true`);
    const { id, billId } = await world.harness.buy({ amount: '9.00' });
    await row(id).getByText('not paid yet').waitFor();
    await world.sandbox.pay(billId);
    await row(id).getByText('1 postback').waitFor();
    await row(id).getByText('paid', { exact: true }).waitFor();
    expect(await page.evaluate(`window.notReloaded`)).toBe(true);
    await page.getByLabel('Order, bill or description').fill(billId);
    await page.getByRole('button', { name: 'Find' }).click();
    expect(await page.locator('tbody tr').count()).toBe(1);
  });

  test('a bill that is half paid reads partly paid, not paid', async () => {
    await world.sandbox.putShop('half', { apiToken: 'token-of-half' });
    const billId = await createBill(world.sandboxUrl, 'token-of-half');
    await world.sandbox.pay(billId, { card: '4000 0000 0000 0259' });
    await openConsole();
    await row('tea-7').getByText('partly paid: 625.00').waitFor();
  });

  test('a bill shows its page, statuses, redirect, the postback with its answer, and the question of the shop', async () => {
    const { id, payUrl, billId } = await world.harness.buy({ amount: '9.50' });
    await page.goto(payUrl);
    await page.getByRole('link', { name: '4111 1111 1111 1111' }).click();
    await page.getByRole('button', { name: /^Pay/ }).click();
    await page.getByRole('heading', { name: 'Payment received' }).waitFor();
    await openConsole(`/console/bills/${billId}`);
    for (const text of [
      'Bill created for 9.50 RUB',
      'Payment page opened',
      /Payment NEW/,
      /NEW → PROCESS/,
      /PROCESS → SUCCESS/,
      /payer sent to the shop POST .*\/redirect\/payment\/success/,
      /Postback SUCCESS delivered/,
      /asked for the payments: 200/,
    ]) {
      await entries(text).first().waitFor();
    }
    await page.locator('summary', { hasText: '200' }).click();
    await page.getByText(`"InvId": "${id}"`).waitFor();
    await page.getByText(/^200 OK$/).waitFor();
  });

  test('open sections and typed text stay when the page of a bill changes', async () => {
    const { billId } = await paidOrder(world, '9.60');
    await openConsole(`/console/bills/${billId}`);
    await page.getByText('Change and replay').click();
    await page.getByLabel('OutSum').fill('1.00');
    await world.sandbox.forge(billId);
    await entries('Postback, forged').waitFor();
    expect(await page.getByLabel('OutSum').first().inputValue()).toBe('1.00');
    expect(await page.evaluate('document.activeElement.name')).toBe('field.OutSum');
  });
});

describe('requests', () => {
  test('requests are listed as they come, refused ones with the reason, and can be copied as curl', async () => {
    await openConsole('/console/requests');
    const init = { method: 'POST', headers: { authorization: 'Bearer 72|of-another-shop' } };
    await fetch(`${world.sandboxUrl}/api/v1/bill/create?amount=1.005`, init);
    await row('it starts with 72|…').getByText('401').waitFor();
    await fetch(`${world.sandboxUrl}/bill/status`);
    await row('not part of this interface: bill/status').getByRole('link', { name: 'GET /bill/status' }).click();
    await page.getByRole('heading', { name: 'As sent' }).waitFor();
    await visitor.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(
      `curl -X GET '${world.sandboxUrl}/bill/status'`,
    );
  });
});

describe('postbacks', () => {
  test('a replayed postback goes out again, and the order stays as it is', async () => {
    const { id, billId } = await paidOrder(world, '10.00');
    await openConsole(`/console/bills/${billId}`);
    await page.getByRole('button', { name: 'Replay' }).click();
    await entries(/Postback, replayed SUCCESS delivered/).waitFor();
    expect(new URL(page.url()).hash).toMatch(/^#callback-/);
    expect(await world.harness.order(id)).toMatchObject({ status: 'paid', events: [{}] });
  });

  test('a postback that is changed and replayed is accepted by the shop and changes nothing', async () => {
    const { id, billId } = await paidOrder(world, '11.00');
    await openConsole(`/console/bills/${billId}`);
    await page.getByText('Change and replay').click();
    await page.getByLabel('Status').fill('FAIL');
    await page.getByLabel('OutSum').fill('1.00');
    await page.getByLabel('Re-sign').check();
    await page.getByRole('button', { name: 'Send' }).click();
    await entries(/Postback, replayed FAIL delivered/).waitFor();
    const { callbacks } = world.sandbox.bill(billId);
    expect(callbacks.at(-1)!.fields).toMatchObject({ Status: 'FAIL', OutSum: '1.00', InvId: id });
    expect(callbacks.at(-1)!.fields['SignatureValue']).not.toBe(callbacks[0]!.fields['SignatureValue']);
    expect(await world.harness.order(id)).toMatchObject({ status: 'paid', events: [{}] });
  });

  test('a bill is paid and completed, and its postback forged, from the console', async () => {
    const { id, billId } = await world.harness.buy({ amount: '12.00' });
    await openConsole(`/console/bills/${billId}`);
    await page.getByRole('button', { name: 'Forge a postback' }).click();
    await entries(/Postback, forged SUCCESS delivered/).waitFor();
    await page.getByLabel('Pay with').selectOption('4000000000003220');
    await page.getByRole('button', { name: 'Pay', exact: true }).click();
    await entries(/NEW → PROCESS/).waitFor();
    expect((await world.harness.order(id)).status).toBe('pending');
    await page.getByRole('button', { name: 'Let it fail' }).click();
    await entries(/PROCESS → FAIL/).waitFor();
    await page.getByRole('button', { name: 'Let it succeed after all' }).click();
    await entries(/FAIL → SUCCESS/).waitFor();
    await until(
      () => world.harness.order(id),
      ({ status }) => status === 'paid',
    );
  });

  test('an impossible action is explained, with the way back', async () => {
    const { billId } = await world.harness.buy({ amount: '12.00' });
    await openConsole(`/console/bills/${billId}`);
    visitor.expected = [400];
    await page.getByLabel('Amount').fill('0');
    await page.getByRole('button', { name: 'Pay', exact: true }).click();
    await page.getByRole('status').getByText('amount must be').waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'What happened' }).waitFor();
  });
});

test('a page of another site can change and read nothing in the console of the sandbox', async () => {
  const { billId } = await world.harness.buy({ amount: '40.00' });
  await page.goto(`${world.shopUrl}/orders`); // another port: another origin
  visitor.expected = [403];
  await page.evaluate(`(() => {
    const form = document.createElement('form');
    form.method = 'post';
    form.action = '${world.sandboxUrl}/sandbox/console/bills/${billId}/pay';
    form.innerHTML = '<input name="card" value="4111111111111111">';
    document.body.append(form);
    form.submit();
  })()`);
  await page
    .getByText('Cross-site request refused: use the sandbox’s own pages, or a client that is not a web page')
    .waitFor();
  expect(world.sandbox.bill(billId).payments).toEqual([]);
});

test('times are the reader’s own, with UTC beside them', async () => {
  const { page: abroad } = await world.visit({ timezoneId: 'Asia/Kolkata' }); // UTC+5:30
  const { billId } = await world.harness.buy({ amount: '42.00' });
  await abroad.goto(`${world.sandboxUrl}/sandbox/console/bills/${billId}`);
  const shown = abroad.locator('#created time');
  await shown.getByText('UTC)').waitFor();
  const instant = new Date((await shown.getAttribute('datetime'))!);
  const clock = (time: Date) => time.toISOString().slice(11, 23);
  const own = new Date(instant.getTime() + 5.5 * 3_600_000);
  const text = (await shown.textContent())!;
  expect(text).toContain(`, ${clock(own)} (`);
  expect(text).toContain(`${clock(instant)} UTC)`);
  await world.sandbox.pay(billId); // what comes later is so, too
  const later = abroad.locator('#timeline > li', { hasText: 'SUCCESS' }).first().locator('time');
  await later.getByText(/^[\d:.]+ \(.* UTC\)$|^\d+ \w+ \d+, .* UTC\)$/).waitFor();
  expect(await shown.textContent()).toBe(text);
});

test('without script the console works, by links and buttons', async () => {
  const { page: plain } = await world.visit({ javaScriptEnabled: false });
  const { billId } = await paidOrder(world, '41.00');
  await plain.goto(`${world.sandboxUrl}/sandbox`);
  await plain.locator(`[href$="${billId}"]`).click();
  await plain.getByRole('button', { name: 'Replay' }).click();
  await plain.locator('#timeline > li', { hasText: 'Postback, replayed' }).waitFor();
});
