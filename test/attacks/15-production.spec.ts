import { afterEach, describe, expect, test } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { migratePaymentAcceptance } from 'nestjs-payment-acceptance';
import { DataSource } from 'typeorm';
import { freePort } from '../../scripts/lib/free-port.mjs';
import { connectionOf, createTestDatabase, type TestDatabase } from '../support/database.js';
import { firstWords } from '../support/first-words.js';
import { ONE_ADAPTER } from '../support/adapters.js';

describe('15: the built sample shop, with NODE_ENV=production', () => {
  let shop: ChildProcess | undefined;
  let database: TestDatabase | undefined;
  afterEach(async () => {
    if (shop && shop.exitCode === null && shop.signalCode === null) {
      const ended = once(shop, 'exit');
      shop.kill('SIGKILL');
      await ended;
    }
    await database?.drop();
    shop = database = undefined;
  });

  test.each(ONE_ADAPTER)(
    'the built sample shop in production has neither ledger nor console, nor links to them, on %s',
    async (adapter) => {
      database = await createTestDatabase();
      const dataSource = await new DataSource(connectionOf(database.url)).initialize();
      await migratePaymentAcceptance(dataSource);
      await dataSource.destroy();
      const port = await freePort();
      shop = spawn(process.execPath, ['dist/apps/shop/main.js'], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: {
          PATH: process.env.PATH,
          NODE_ENV: 'production',
          DATABASE_URL: database.url,
          SHOP_PORT: String(port),
          SHOP_ADAPTER: adapter,
          PAYMENT_ACCEPTANCE_SHOPS: 'main,eu',
          PAYMENT_ACCEPTANCE_API_BASE_URL: 'https://api.pay.example',
          PAYMENT_ACCEPTANCE_MAIN_SHOP_ID: '17',
          PAYMENT_ACCEPTANCE_EU_SHOP_ID: '18',
          PAYMENT_ACCEPTANCE_MAIN_API_TOKEN: 'f81d4fae7dec11d0a76500a0c91e6bf6',
          PAYMENT_ACCEPTANCE_EU_API_TOKEN: 'f81d4fae7dec11d0a76500a0c91e6bf7',
        },
      });
      await firstWords(shop);
      const url = `http://127.0.0.1:${port}`;
      const products = await fetch(url);
      expect([products.status, await products.text()]).toEqual([200, expect.not.stringContaining('payment-console')]);
      const consoles = ['', '/', '/bills', '/reviews', '/actions/replay/all'].map((path) => `payment-console${path}`);
      for (const path of [...consoles, 'Payment-Console', 'payment-%63onsole', '/payment-console']) {
        const answer = await fetch(`${url}/${path}`);
        expect([path, answer.status, /"bills"|Payment console/.test(await answer.text())]).toEqual([path, 404, false]);
      }
      const ended = once(shop, 'exit');
      shop.kill('SIGTERM');
      await ended;
    },
  );
});
