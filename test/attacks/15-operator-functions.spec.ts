import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PaymentUnknownShopError } from 'nestjs-payment-acceptance';
import { PaymentOperations, PaymentRecords, PaymentReviews } from 'nestjs-payment-acceptance/operations';
import { startHarness, type Harness } from '../support/harness.js';
import { watchRoutes } from '../support/routes.js';
import { ADAPTERS } from '../support/adapters.js';
import { closing } from '../support/closing.js';
import { startAttackedShop } from './support/attacked-shop.js';
import { OperatorDeskModule } from './support/operator-desk.js';
import { Refusing, seed, type Seeded } from './support/operator-records.js';

const CALLBACK_ROUTES = [
  'GET /redirect/payment/fail',
  'GET /redirect/payment/fail/:shop',
  'GET /redirect/payment/result/:ticket',
  'GET /redirect/payment/success',
  'GET /redirect/payment/success/:shop',
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
    'a host that imports the module with the role "%s" has no other routes than its callback routes',
    async (role) => {
      let routes = (): string[] => [];
      const harness = await startHarness({ adapter, extras: { role }, prepare: (app) => (routes = watchRoutes(app)) });
      closeLater(() => harness.close());
      expect(routes()).toEqual(role === 'workers' ? [] : CALLBACK_ROUTES);
    },
  );

  test('the sample shop has its own pages and the callback routes; in development also the ledger and the console', async () => {
    let watched = (): string[] => [];
    const shop = await startAttackedShop(adapter, { prepare: (app) => (watched = watchRoutes(app)) });
    closeLater(() => shop.close());
    const routes = watched();
    expect(routes).toEqual(expect.arrayContaining(CALLBACK_ROUTES));
    const own = routes.filter((route) => !CALLBACK_ROUTES.includes(route));
    const records = /ledger|operat|review|replay|attach|accept|dead|stat|console|outcome|log/i;
    expect(own.filter((route) => records.test(route) && !/^\w+ \/payment-console(\/|$)/.test(route))).toEqual([]);
  });

  describe('behind a guard that grants each operator one shop', () => {
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

    test.each(['stats', 'shops', 'unknown', 'dead-letters', 'reviews'])(
      'the operator route %s shows nothing to a caller whom the guard does not know',
      async (path) => {
        expect((await ask(path, undefined, 'nobody')).status).toBe(401);
      },
    );

    test('the counts of an operator are those of the own shop, and add up to those of all shops', async () => {
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

    test('the ages that an operator sees are those of the own shop', async () => {
      const operations = harness.host.app.get(PaymentOperations);
      expect(await operations.forShop('main').stats()).toMatchObject({ oldestDeliveryMs: expect.any(Number) });
      await harness.host.dataSource.query(
        `UPDATE payment_acceptance.bill SET next_check_at = CASE WHEN shop = 'eu' THEN now() + interval '1 day' ELSE now() - interval '1 day' END
         WHERE next_check_at IS NOT NULL`,
      );
      expect((await operations.forShop('eu').stats()).oldestCheckMs).toBeNull();
      expect((await operations.stats()).oldestCheckMs).toBeGreaterThan(0);
    });

    test.each(['shops', 'unknown', 'dead-letters', 'reviews'])(
      'the list of %s that an operator sees has only the own shop',
      async (path) => {
        const shown = (await ask(path)).body as { shop: string }[];
        expect(shown.map(({ shop }) => shop)).toEqual(['eu']);
      },
    );

    test('an operator finds and replays no dead letter of another shop, by its name, id or order', async () => {
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
        'Intent ? does not have an unknown outcome, or no longer has one.',
      ],
      [
        'void',
        ({ intentId }) => ['void', { intentId }],
        'Intent ? does not have an unknown outcome, or no longer has one.',
      ],
      [
        'accept',
        ({ reviewId }) => ['accept', { reviewId }],
        'There is no open review ?. List the open reviews: it may have been closed meanwhile.',
      ],
      [
        'dismiss',
        ({ reviewId }) => ['dismiss', { reviewId }],
        'There is no open review ?. List the open reviews: it may have been closed meanwhile.',
      ],
    ])(
      "to %s another shop's record is refused as if it did not exist, and changes nothing",
      async (_n, command, said) => {
        const before = await everything();
        const uuid = '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d';
        const nobodys = { ...theirs, intentId: uuid, reviewId: uuid };
        const answers = await Promise.all([ask(...command(theirs)), ask(...command(nobodys))]);
        const ids = /[0-9a-f]{8}-[0-9a-f-]{27}/;
        expect(answers.map(({ status, body }) => [status, JSON.stringify(body).replace(ids, '?')])).toEqual([
          [409, JSON.stringify({ error: 'PaymentOperatorActionError', message: said })],
          [409, JSON.stringify({ error: 'PaymentOperatorActionError', message: said })],
        ]);
        expect(await everything()).toEqual(before);
      },
    );

    test('the operations of one shop cannot be widened to another, and do not exist for an unknown shop', () => {
      const { app } = harness.host;
      for (const service of [PaymentOperations, PaymentRecords, PaymentReviews]) {
        const scoped = app.get<{ forShop(name: string): { forShop(name: string): object } }>(service).forShop('eu');
        for (const name of ['main', 'us', '__proto__', '']) {
          expect(() => scoped.forShop(name)).toThrow(PaymentUnknownShopError);
        }
        expect(scoped.forShop('eu')).toBeInstanceOf(service);
      }
      for (const name of ['us', '', '__proto__', 'EU']) {
        expect(() => app.get(PaymentOperations).forShop(name)).toThrow(PaymentUnknownShopError);
        expect(() => app.get(PaymentReviews).forShop(name)).toThrow(PaymentUnknownShopError);
      }
    });

    test('an operator can attach, accept and replay records of the own shop', async () => {
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
