import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import type { Visitor } from './support/chromium.js';
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

const openConsole = (path = ''): Promise<unknown> => page.goto(`${world.sandboxUrl}/sandbox${path}`);

describe('faults', () => {
  test('faults are switches with settings, and can all be switched off', async () => {
    await openConsole('/console/faults');
    const drop = page.getByRole('switch', { name: 'drop' });
    expect(await drop.getAttribute('aria-checked')).toBe('false');
    await drop.press('Enter');
    await page.locator('[role=switch][aria-labelledby=postbacks-drop-name][aria-checked=true]').waitFor();
    expect(world.sandbox.faults()).toMatchObject({ postbacks: { drop: 1 } });
    const change = page.locator('#postbacks-change');
    await change.getByText('Settings').click();
    await change.getByLabel('Probability').fill('0.5');
    await change.getByLabel('Fields to set').fill('OutSum=1.00\nInvId=a=b');
    await change.getByLabel('Re-signed').selectOption('yes');
    await change.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('50 %').waitFor();
    expect(world.sandbox.faults().postbacks).toEqual({
      drop: 1,
      change: { p: 0.5, set: { OutSum: '1.00', InvId: 'a=b' }, resign: true },
    });
    await page.getByRole('switch', { name: 'drop' }).click();
    await page.locator('[role=switch][aria-labelledby=postbacks-drop-name][aria-checked=false]').waitFor();
    await page.getByRole('button', { name: 'Turn all off' }).click();
    await page.getByText('none in force').waitFor();
    expect(Object.values(world.sandbox.faults()).flatMap((group) => Object.keys(group as object))).toEqual([]);
  });
});

test('advancing the clock lets a due payment succeed', async () => {
  const { billId } = await world.harness.buy({ amount: '30.00' });
  await world.sandbox.pay(billId, { card: '4000 0000 0000 0077' });
  await openConsole('/console/clock');
  await page.getByText(/becomes SUCCESS/).waitFor();
  await page.getByLabel('Advance by').fill('61 s');
  await page.getByRole('button', { name: 'Advance' }).click();
  await page.getByText(/Ahead of the machine’s clock by 1 m 1 s/).waitFor();
  expect(world.sandbox.bill(billId).paid).toBe(true);
});

test('a shop can be created, edited and saved', async () => {
  await openConsole('/console/shops');
  await page.getByLabel('Id').fill('tea');
  await page.getByLabel('API token').fill('token-of-tea');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'tea' }).waitFor();
  await page.getByLabel('Name').fill('Tea house');
  await page.getByLabel('Commission, percent').fill('2.5');
  await page.getByLabel('Blocked by the service').check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Settings saved.').waitFor();
  await page.getByText('PAYMENT_ACCEPTANCE_SHOP_ID=tea').waitFor();
  expect(world.sandbox.shop('tea')).toMatchObject({ name: 'Tea house', commissionPercent: 2.5, banned: true });
});
