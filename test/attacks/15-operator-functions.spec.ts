import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  migratePaymentAcceptance,
  NonRetryableError,
  OnPaymentFailed,
  OnPaymentSucceeded,
  UnknownOutcomeError,
  UnknownShopError,
} from 'nestjs-payment-acceptance';
import { PaymentOperations, PaymentReviews, type PaymentLedger } from 'nestjs-payment-acceptance/operations';
import { DataSource } from 'typeorm';
import { freePort } from '../../scripts/lib/free-port.mjs';
import { startHarness, type Harness } from '../support/harness.js';
import { connectionOf, createTestDatabase, type TestDatabase } from '../support/database.js';
import { firstWords } from '../support/first-words.js';
import { watchRoutes } from '../support/routes.js';
import { ADAPTERS, ONE_ADAPTER } from '../support/adapters.js';
import { closing } from '../support/closing.js';
import { startAttackedShop } from './support/attacked-shop.js';
import { OperatorDeskModule } from './support/operator-desk.js';

const CALLBACK_ROUTES = [
  'GET /redirect/payment/result/:ticket',
  'POST /postback/payment',
  'POST /postback/payment/:shop',
  'POST /redirect/payment/fail',
  'POST /redirect/payment/fail/:shop',
  'POST /redirect/payment/success',
  'POST /redirect/payment/success/:shop',
];

describe.each(ADAPTERS)('15: operator functions, on %s', (adapter) => {
  const closeLater = closing();

  test.each(['all', 'callbacks', 'workers'] as const)(
    'a host that imports the module with the role "%s" has the callback routes, and no other',
    async (role) => {
      let routes = (): string[] => [];
      const harness = await startHarness({ adapter, extras: { role }, prepare: (app) => (routes = watchRoutes(app)) });
      closeLater(() => harness.close());
      expect(routes()).toEqual(role === 'workers' ? [] : CALLBACK_ROUTES);
    },
  );

  test('the sample shop has its own pages and the callback routes; of the records it shows the ledger and the console, in development', async () => {
    let watched = (): string[] => [];
    const shop = await startAttackedShop(adapter, { prepare: (app) => (watched = watchRoutes(app)) });
    closeLater(() => shop.close());
    const routes = watched();
    expect(routes).toEqual(expect.arrayContaining(CALLBACK_ROUTES));
    const own = routes.filter((route) => !CALLBACK_ROUTES.includes(route));
    const records = /ledger|operat|review|replay|attach|accept|dead|stat|console|outcome|log/i;
    expect(own.filter((route) => records.test(route) && !/^\w+ \/payment-console(\/|$)/.test(route))).toEqual([
      'GET /api/ledger',
    ]);
  });

  describe('behind a guard that gives an operator one shop', () => {
    let harness: Harness;
    let theirs: Seeded;
    let own: Seeded;
    beforeAll(async () => {
      harness = await startHarness({
        adapter,
        imports: [{ module: OperatorDeskModule }],
        providers: [Refusing],
        options: { http: { attempts: 1 } },
      });
      theirs = await seed(harness, 'main');
      own = await seed(harness, 'eu');
    });
    afterAll(() => harness.close());

    const ask = async (path: string, body?: object, operator = 'eu') => {
      const answer = await fetch(`${harness.host.url}/desk/${path}`, {
        method: body ? 'POST' : 'GET',
        headers: { authorization: `Bearer operator-of-${operator}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: answer.status, body: await answer.json() };
    };
    const everything = async () => {
      const { dataSource } = harness.host;
      const actions = await dataSource.query<object[]>('SELECT * FROM payment_acceptance.operator_action ORDER BY id');
      return { ledger: await harness.host.ledger(), actions, requests: harness.sandbox.requests.length };
    };

    test.each(['ledger', 'stats', 'shops', 'unknown', 'dead-letters', 'reviews'])(
      '%s shows nothing to whom the guard does not know',
      async (path) => {
        expect((await ask(path, undefined, 'nobody')).status).toBe(401);
      },
    );

    test('the ledger shows rows of every kind, all of the own shop', async () => {
      const shown = (await ask('ledger')).body as PaymentLedger;
      for (const rows of [shown.bills, shown.payments, shown.callbacks, shown.events, shown.reviews]) {
        expect([...new Set(rows.map(({ shop }) => shop))]).toEqual(['eu']);
      }
      expect(JSON.stringify(shown)).not.toContain('main-');
      const all = await harness.host.ledger();
      expect(new Set(all.bills.map(({ shop }) => shop)).size).toBe(2);
    });

    test('counts are of the own shop, and those of all shops their sum', async () => {
      const operations = harness.host.app.get(PaymentOperations);
      const [eu, main, all] = await Promise.all([
        operations.forShop('eu').stats(),
        operations.forShop('main').stats(),
        operations.stats(),
      ]);
      expect((await ask('stats')).body).toMatchObject({ unknownBills: 1, openReviews: 1, deadLetters: 1 });
      for (const count of [
        'unknownBills',
        'openReviews',
        'deadLetters',
        'pendingDeliveries',
        'waitingCallbacks',
      ] as const) {
        expect([count, eu[count] + main[count]]).toEqual([count, all[count]]);
        expect([count, eu[count]]).not.toEqual([count, all[count]]);
      }
    });

    test('the age of what waits is that of the own shop', async () => {
      const operations = harness.host.app.get(PaymentOperations);
      expect(await operations.forShop('main').stats()).toMatchObject({ oldestDeliveryMs: expect.any(Number) });
      await harness.host.dataSource.query(
        `UPDATE payment_acceptance.bill SET next_check_at = CASE WHEN shop = 'eu' THEN now() + interval '1 day' ELSE now() - interval '1 day' END
         WHERE next_check_at IS NOT NULL`,
      );
      expect((await operations.forShop('eu').stats()).oldestCheckMs).toBeNull();
      expect((await operations.stats()).oldestCheckMs).toBeGreaterThan(0);
    });

    test.each(['shops', 'unknown', 'dead-letters', 'reviews'])('the list of %s has the own shop only', async (path) => {
      const shown = (await ask(path)).body as { shop: string }[];
      expect(shown.map(({ shop }) => shop)).toEqual(['eu']);
    });

    test("asking for another shop's dead letters by its name or their number gives none", async () => {
      const { deadLetterId } = theirs;
      for (const filter of [{ shop: 'main' }, { deliveryId: deadLetterId }, { orderId: 'main-dead' }]) {
        expect(await harness.host.app.get(PaymentOperations).forShop('eu').deadLetters(filter)).toEqual([]);
        expect((await ask('replay', filter)).body).toEqual({ replayed: 0 });
      }
      expect(await harness.host.app.get(PaymentOperations).deadLetters({ deliveryId: deadLetterId })).toHaveLength(1);
    });

    test.each<[string, (of: Seeded) => [path: string, body: object], string]>([
      [
        'attach',
        ({ intentId, billId }) => ['attach', { intentId, billId }],
        'Intent ? is not an unknown outcome, or is no longer one.',
      ],
      ['void', ({ intentId }) => ['void', { intentId }], 'Intent ? is not an unknown outcome, or is no longer one.'],
      ['accept', ({ reviewId }) => ['accept', { reviewId }], 'Review ? is not open, or is no longer open.'],
      ['dismiss', ({ reviewId }) => ['dismiss', { reviewId }], 'Review ? is not open, or is no longer open.'],
    ])(
      "to %s another shop's object is refused as if it were not there, and changes nothing",
      async (_n, command, said) => {
        const before = await everything();
        const uuid = '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d';
        const nobodys = { ...theirs, intentId: uuid, reviewId: uuid };
        const answers = await Promise.all([ask(...command(theirs)), ask(...command(nobodys))]);
        const ids = /[0-9a-f]{8}-[0-9a-f-]{27}/;
        expect(answers.map(({ status, body }) => [status, JSON.stringify(body).replace(ids, '?')])).toEqual([
          [409, JSON.stringify({ error: 'OperatorActionError', message: said })],
          [409, JSON.stringify({ error: 'OperatorActionError', message: said })],
        ]);
        expect(await everything()).toEqual(before);
      },
    );

    test('a view of one shop cannot be widened, and there is none of a shop that is not configured', () => {
      const { app } = harness.host;
      expect('forShop' in app.get(PaymentOperations).forShop('eu')).toBe(false);
      expect('forShop' in app.get(PaymentReviews).forShop('eu')).toBe(false);
      for (const name of ['us', '', '__proto__', 'EU']) {
        expect(() => app.get(PaymentOperations).forShop(name)).toThrow(UnknownShopError);
        expect(() => app.get(PaymentReviews).forShop(name)).toThrow(UnknownShopError);
      }
    });

    test('what belongs to the own shop can be attached, accepted and replayed', async () => {
      expect((await ask('attach', { intentId: own.intentId, billId: own.billId })).status).toBe(200);
      expect((await ask('accept', { reviewId: own.reviewId })).status).toBe(200);
      expect((await ask('replay', {})).body).toEqual({ replayed: 1 });
      expect((await ask('stats')).body).toMatchObject({ unknownBills: 0, openReviews: 0, deadLetters: 0 });
      expect(await harness.host.app.get(PaymentOperations).stats()).toMatchObject({
        unknownBills: 1,
        openReviews: 1,
        deadLetters: 1,
      });
    });
  });
});

describe('15: the sample shop as it is run, with NODE_ENV=production', () => {
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

  test.each(ONE_ADAPTER)('shows neither ledger nor console, and no way to them, on %s', async (adapter) => {
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
        PAYMENT_ACCEPTANCE_SHOP_ID: '17',
        PAYMENT_ACCEPTANCE_MAIN_API_TOKEN: 'f81d4fae7dec11d0a76500a0c91e6bf6',
        PAYMENT_ACCEPTANCE_EU_API_TOKEN: 'f81d4fae7dec11d0a76500a0c91e6bf7',
      },
    });
    await firstWords(shop);
    const url = `http://127.0.0.1:${port}`;
    const products = await fetch(url);
    expect([products.status, await products.text()]).toEqual([200, expect.not.stringContaining('payment-console')]);
    const ledgers = ['api/ledger', 'api/ledger/', 'API/LEDGER', 'api//ledger', 'api/%6cedger'];
    const consoles = ['', '/', '/bills', '/reviews', '/actions/replay/all'].map((path) => `payment-console${path}`);
    for (const path of [...ledgers, ...consoles, 'Payment-Console', 'payment-%63onsole', '/payment-console']) {
      const answer = await fetch(`${url}/${path}`);
      expect([path, answer.status, /"bills"|Payment console/.test(await answer.text())]).toEqual([path, 404, false]);
    }
    const ended = once(shop, 'exit');
    shop.kill('SIGTERM');
    await ended;
  });
});

interface Seeded {
  readonly intentId: string;
  readonly billId: string;
  readonly reviewId: string;
  readonly deadLetterId: string;
}

/** One of everything that an operator acts on, in that shop: orders are named after it. */
async function seed(harness: Harness, shop: 'main' | 'eu'): Promise<Seeded> {
  const payments = harness.host.payments.shop(shop);
  const pay = async (orderId: string, input: Parameters<Harness['sandbox']['pay']>[1]) => {
    const { billId } = await payments.createBill({ orderId, amount: '10' });
    await harness.sandbox.pay(billId, input);
  };
  await pay(`${shop}-short`, { amount: '9.00' });
  await pay(`${shop}-dead`, { outcome: 'fail' });
  await harness.settle();
  await harness.sandbox.setFaults({ requests: { loseAnswer: 1 } });
  const lost: unknown = await payments.createBill({ orderId: `${shop}-lost`, amount: '10' }).catch((e: unknown) => e);
  await harness.sandbox.clearFaults();
  if (!(lost instanceof UnknownOutcomeError)) throw new Error('The answer was not lost.');
  const billId = harness.sandbox.bills().find(({ orderId }) => orderId === `${shop}-lost`)!.id;
  await harness.sandbox.pay(billId); // its postback waits for the bill
  await harness.sandbox.settled();
  await pay(`${shop}-pending`, {});
  await harness.sandbox.settled();
  await harness.host.confirmer.runOnce(); // its event is not handed over yet
  const review = (await harness.host.ledger()).reviews.find(({ orderId }) => orderId === `${shop}-short`)!;
  const [letter] = await harness.host.app.get(PaymentOperations).deadLetters({ orderId: `${shop}-dead` });
  return { intentId: lost.intentId, billId, reviewId: review.id, deadLetterId: letter!.deliveryId };
}

/** Takes nothing: failures become dead letters, successes go on waiting. */
@Injectable()
class Refusing {
  @OnPaymentFailed({ consumer: 'orders' })
  never(): void {
    throw new NonRetryableError('this order is unknown here');
  }

  @OnPaymentSucceeded({ consumer: 'orders' })
  notNow(): void {
    throw new Error('not now');
  }
}
