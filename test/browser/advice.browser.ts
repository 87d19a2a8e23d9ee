import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type LogLine, type RunningSandbox, startPaymentSandbox } from 'nestjs-payment-sandbox';
import type { Browser, Page } from 'playwright-core';
import { launch, Visitor } from './support/chromium.js';

/** What a shop answers, by the path, the type and the text of the body. */
type Shop = (path: string, type: string, body: string) => readonly [status: number, body: string];

const SHOPS: readonly [name: string, shop: Shop | 'down', says: string][] = [
  ['behind a global prefix', (path) => [path.startsWith('/api/') ? 200 : 404, ''], 'the address lacks a global prefix'],
  [
    'that reads only forms',
    (_path, type) => (type.includes('form') ? [200, 'OK'] : [400, 'no fields']),
    'or set Postback format (postbackFormat) to form',
  ],
  ['that answers 500', () => [500, ''], 'the shop failed while handling the postback: see its log'],
  ['that is down', 'down', 'nothing is listening at 127.0.0.1:9'],
  [
    'that checks the digest wrongly',
    (_path, _type, body) => [/"SignatureValue":"[0-9a-f]{32}"/.test(body) ? 200 : 400, 'bad signature'],
    'SignatureValue is the MD5 of "100.05:o-1:" and the API token',
  ],
];

let browser: Browser;
let server: Server;
let shop: Shop;
let running: RunningSandbox;
let lines: { line: LogLine; at: number }[];
let visitor: Visitor;
let page: Page;

describe('advice for a shop', () => {
  beforeAll(async () => {
    browser = await launch();
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const [status, text] = shop(request.url ?? '', request.headers['content-type'] ?? '', body);
        response.writeHead(status).end(text);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const log = (line: LogLine): number => lines.push({ line, at: performance.now() });
    running = await startPaymentSandbox({ shops: { main: { apiToken: 'token-of-main' } }, diagnose: true, log });
    visitor = await Visitor.open(browser);
    ({ page } = visitor);
  });
  afterAll(async () => {
    await browser.close();
    await running.close();
    server.close();
  });
  afterEach(() => expect(visitor.problems).toEqual([]));

  test.each(SHOPS)(
    'a shop %s is told what is wrong within a second, in page and terminal',
    async (name, made, says) => {
      lines = [];
      if (made !== 'down') shop = made;
      const port = made === 'down' ? 9 : (server.address() as AddressInfo).port;
      await running.sandbox.putShop('main', { resultUrl: `http://127.0.0.1:${port}/${name.replaceAll(' ', '-')}` });
      const created = await fetch(`${running.url}/api/v1/bill/create?amount=100.05&order_id=o-1`, {
        method: 'POST',
        headers: { authorization: 'Bearer token-of-main' },
      });
      const { bill_id: billId } = (await created.json()) as { bill_id: string };
      await page.goto(`${running.url}/sandbox/console/bills/${billId}`);
      const paidAt = performance.now();
      await running.sandbox.pay(billId);
      await running.sandbox.settled();
      const told = lines.find(({ line }) => line.text.startsWith('postback main o-1 SUCCESS'))!;
      expect(told.line).toMatchObject({ problem: true, text: expect.stringContaining(says) });
      expect(told.at - paidAt).toBeLessThan(1_000);
      await page.locator('.advice', { hasText: says }).waitFor({ timeout: 5_000 }); // the page looks each second
    },
  );

  test('a shop that reads only forms takes a postback resent as a form, and its check says so', async () => {
    lines = [];
    shop = (_path, type) => (type.includes('form') ? [200, 'OK'] : [400, 'no fields']);
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/again`;
    await running.sandbox.putShop('main', { resultUrl: url, failUrl: url });
    await page.goto(`${running.url}/sandbox`);
    await page.getByRole('link', { name: 'o-1' }).first().click();
    await page.getByRole('button', { name: 'Pay', exact: true }).click();
    await page.getByRole('button', { name: 'Resend as a form' }).last().click();
    await page.locator('#timeline > li', { hasText: /Postback, replayed SUCCESS delivered/ }).waitFor();
    await page.goto(`${running.url}/sandbox/console/shops/main`);
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('or set Postback format').waitFor();
    await page.getByText('it accepts redirects').waitFor();
  });
});
