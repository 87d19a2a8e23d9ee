import type { PaymentSandbox, StartOptions } from 'nestjs-payment-sandbox';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { startShops, type ShopHarness } from '../../support/shop.js';
import { until } from '../../support/until.js';
import { launch, Visitor } from './chromium.js';

export const CARDS = { good: '4111 1111 1111 1111', bad: '4000 0000 0000 0002' } as const;

/** The sample shop as it runs, the sandbox, and a browser. */
export interface World {
  readonly harness: ShopHarness;
  readonly sandbox: PaymentSandbox;
  readonly shopUrl: string;
  readonly sandboxUrl: string;
  readonly browser: Browser;
  /** A separate browser; `problems()` collects the errors of all of them. */
  visit(options?: BrowserContextOptions): Promise<Visitor>;
  /** What was wrong since the last call; closes the browsers. */
  problems(): Promise<string[]>;
  close(): Promise<void>;
}

export async function openWorld(instances = 1, options: StartOptions = {}): Promise<World> {
  const harness = await startShops(instances, { processingTime: '300ms', ...options });
  const browser = await launch().catch(async (error: unknown) => {
    await harness.close();
    throw error;
  });
  const visitors: Visitor[] = [];
  return {
    harness,
    browser,
    sandbox: harness.sandbox,
    shopUrl: harness.urls[0]!,
    sandboxUrl: harness.sandboxUrl,
    async visit(more) {
      const visitor = await Visitor.open(browser, more);
      visitors.push(visitor);
      return visitor;
    },
    async problems() {
      const gone = visitors.splice(0);
      await Promise.all(gone.map(({ context }) => context.close()));
      return gone.flatMap(({ problems }) => problems);
    },
    async close() {
      await browser.close();
      await harness.close();
    },
  };
}

/** From the shop's first page to the card form. */
export async function buy(page: Page, shopUrl: string, product: string, currency: '₽ RUB' | '€ EUR'): Promise<void> {
  await page.goto(shopUrl);
  await page.getByRole('link', { name: currency }).click();
  await page.getByRole('button', { name: `Buy: ${product}` }).click();
  await page.getByRole('heading', { name: 'Pay by card' }).waitFor();
}

/** Fills in the card form, and sends it. */
export async function payWith(page: Page, card: string): Promise<void> {
  await page.getByLabel('Card number').fill(card);
  await page.getByLabel('Month / year').fill('12/40');
  await page.getByLabel('Security code').fill('123');
  await page.getByRole('button', { name: /^Pay/ }).click();
}

/** A bill of a shop that only the sandbox knows. Gives the service's id. */
export async function createBill(sandboxUrl: string, token: string): Promise<string> {
  const answer = await fetch(`${sandboxUrl}/api/v1/bill/create`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: new URLSearchParams({ amount: '1250', order_id: 'tea-7', name: 'Tea', payer_pays_commission: '1' }),
  });
  return ((await answer.json()) as { bill_id: string }).bill_id;
}

/** An order of the sample shop, paid. */
export async function paidOrder({ harness, sandbox }: World, amount: string) {
  const bought = await harness.buy({ amount });
  await sandbox.pay(bought.billId);
  await until(
    () => harness.order(bought.id),
    ({ status }) => status === 'paid',
  );
  return bought;
}
