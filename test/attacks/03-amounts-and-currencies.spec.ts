import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { postJson, postbackFields, redirectFields } from '../support/http.js';
import { ONE_ADAPTER } from '../support/adapters.js';
import { startAttackedShop, TOKENS, type AttackedShop, type Bought } from './support/attacked-shop.js';
import { honest, startLyingService, type LyingService } from './support/lying-service.js';
import { sendForm } from './support/sending.js';

/** Amounts in callbacks of an order of 100.05 RUB: a decimal is never an error, and none counts. */
const TOLD: readonly (readonly [OutSum: string, status: 'taken' | 'malformed'])[] = [
  ['100.04', 'taken'],
  ['100.06', 'taken'],
  ['0.01', 'taken'],
  ['99999999999.99', 'taken'],
  ['100.0500000001', 'taken'],
  ['0', 'taken'],
  ['-0', 'taken'],
  ['-100.05', 'taken'],
  ['1e2', 'malformed'],
  ['1.0005E+02', 'malformed'],
  [' 100.05 ', 'malformed'],
  ['100.05\n', 'malformed'],
  ['100,05', 'malformed'],
  ['１００.０５', 'malformed'],
  ['٣١', 'malformed'],
  ['+100.05', 'malformed'],
  ['0x64', 'malformed'],
  ['100.05.00', 'malformed'],
  ['1'.repeat(40), 'malformed'],
  ['NaN', 'malformed'],
  ['Infinity', 'malformed'],
  ['null', 'malformed'],
  ['true', 'malformed'],
];

/** The `amount` that the service lists for a SUCCESS payment, as JSON text, and the result for the order. */
const LISTED: readonly (readonly [amount: string, outcome: string])[] = [
  ['100.05', 'paid'],
  ['"100.05"', 'paid'],
  ['100.0500', 'paid'],
  ['1.0005E+02', 'paid'],
  ['" 100.05 "', 'paid'],
  ['100.06', 'paid, review overpaid'],
  ['99999999.99', 'paid, review overpaid'],
  ['100.04', 'review underpaid'],
  ['1e2', 'review underpaid'],
  ['0.01', 'review underpaid'],
  ['0', 'review amount-not-positive'],
  ['-0.00', 'review amount-not-positive'],
  ['-100.05', 'review amount-not-positive'],
  // A floating-point number would be 100.05 exactly.
  ['100.04999999999999999', 'review amount-missing'],
  ['100.05000000000000001', 'review amount-missing'],
  ['100000000.05', 'review amount-missing'],
  ['1'.repeat(40), 'review amount-missing'],
  ['1e99', 'review amount-missing'],
  ['"100,05"', 'review amount-missing'],
  ['"１００.０５"', 'review amount-missing'],
  ['"NaN"', 'review amount-missing'],
  ['"Infinity"', 'review amount-missing'],
  ['""', 'review amount-missing'],
  ['null', 'review amount-missing'],
  ['true', 'review amount-missing'],
  ['[100.05]', 'review amount-missing'],
  ['{"value":100.05}', 'review amount-missing'],
  ['NaN', 'pending'],
  ['0100.05', 'pending'],
];

const LISTED_CURRENCIES: readonly (readonly [currency: string, outcome: string])[] = [
  ['"USD"', 'review wrong-currency'],
  ['"EUR"', 'review wrong-currency'],
  ['"rub"', 'review wrong-currency'],
  ['"XTS"', 'review wrong-currency'],
  ['"РUB"', 'review wrong-currency'],
  ['643', 'review wrong-currency'],
  ['""', 'review wrong-currency'],
  ['null', 'review wrong-currency'],
  ['["RUB"]', 'review wrong-currency'],
];

describe.each(ONE_ADAPTER)('wrong amounts and currencies, on %s', (adapter) => {
  let shop: AttackedShop;
  let service: LyingService;
  beforeAll(async () => {
    shop = await startAttackedShop(adapter, {
      service: async (url) => {
        service = await startLyingService(url);
        return service.url;
      },
    });
  });
  afterAll(async () => {
    await shop.close();
    await service.close();
  });

  const callbacksOf = async ({ billId }: Bought) =>
    (await shop.ledger()).callbacks.filter((callback) => callback.billId === billId);

  /** `paid`, `review <reason>`, both, or the order's status. */
  async function outcomesOf(orders: readonly Bought[]): Promise<string[]> {
    const { reviews } = await shop.ledger();
    return Promise.all(
      orders.map(async ({ id }) => {
        const order = await shop.order(id);
        const reasons = reviews.filter(({ orderId }) => orderId === id).map(({ reason }) => `review ${reason}`);
        return [...(order.status === 'pending' && reasons.length > 0 ? [] : [order.status]), ...reasons].join(', ');
      }),
    );
  }

  test('postbacks with the right digest and any amount change nothing', async () => {
    const order = await shop.buy();
    const nothingChanged = await shop.watch();
    const answers = await Promise.all(
      TOLD.map(async ([OutSum]) => {
        const fields = postbackFields({ InvId: order.id, OutSum, TrsId: order.billId }, TOKENS.main);
        const { status } = await postJson(`${shop.url}/postback/payment`, fields);
        return [OutSum, status];
      }),
    );
    expect(answers).toEqual(TOLD.map(([OutSum]) => [OutSum, 200]));
    await nothingChanged();
    const taken = TOLD.map(() => ({
      digest: 'match',
      corroboration: { order: 'match', amount: 'mismatch', currency: 'match' },
      outcome: 'unconfirmed',
    }));
    expect(await callbacksOf(order)).toMatchObject(taken);
  });

  test('redirects with the right digest and any amount change nothing', async () => {
    const order = await shop.buy();
    const nothingChanged = await shop.watch();
    const answers = await Promise.all(
      TOLD.map(async ([OutSum]) => {
        const fields = redirectFields({ InvId: order.id, OutSum }, TOKENS.main);
        return [OutSum, (await sendForm(`${shop.url}/redirect/payment/success`, fields)).status];
      }),
    );
    expect(answers).toEqual(TOLD.map(([OutSum, status]) => [OutSum, status === 'taken' ? 303 : 400]));
    await nothingChanged();
    const taken = TOLD.filter(([, status]) => status === 'taken');
    expect(await callbacksOf(order)).toMatchObject(taken.map(() => ({ corroboration: { amount: 'mismatch' } })));
  });

  test('a postback whose JSON amount is not a string is accepted and changes nothing', async () => {
    const order = await shop.buy();
    const nothingChanged = await shop.watch();
    const fields = postbackFields({ InvId: order.id, OutSum: '100.05', TrsId: order.billId }, TOKENS.main);
    for (const OutSum of [['100.05'], { $gt: 0 }, true, 1e21, -1e-7]) {
      const { status } = await postJson(`${shop.url}/postback/payment`, { ...fields, OutSum });
      expect([OutSum, status]).toEqual([OutSum, 200]);
    }
    await nothingChanged();
    const odd = { digest: 'mismatch', corroboration: { amount: 'mismatch' } };
    expect(await callbacksOf(order)).toMatchObject(Array.from({ length: 5 }, () => odd));
  });

  test('another currency, which the digest does not cover, changes nothing', async () => {
    const order = await shop.buy();
    const nothingChanged = await shop.watch();
    const redirect = redirectFields({ InvId: order.id, OutSum: '100.05' }, TOKENS.main);
    const postback = postbackFields({ InvId: order.id, OutSum: '100.05', TrsId: order.billId }, TOKENS.main);
    const answers = [];
    for (const CurrencyIn of ['USD', 'EUR', 'rub', 'XTS', 'РUB']) {
      const answer = await sendForm(`${shop.url}/redirect/payment/success`, { ...redirect, CurrencyIn });
      const { status } = await postJson(`${shop.url}/postback/payment`, { ...postback, CurrencyIn });
      answers.push([CurrencyIn, answer.status, status]);
      if (answer.status === 303) {
        const page = await fetch(new URL(answer.headers.get('location') ?? '', answer.url));
        expect(await page.text()).toMatch(/100\.05\s*(₽|RUB)/);
      }
    }
    // A redirect may have any currency that a bill may have. A postback is accepted whatever it has; the mismatch is recorded.
    expect(answers).toEqual([
      ['USD', 303, 200],
      ['EUR', 303, 200],
      ['rub', 400, 200],
      ['XTS', 303, 200],
      ['РUB', 400, 200],
    ]);
    await nothingChanged();
    expect(await callbacksOf(order)).toMatchObject(
      Array.from({ length: 8 }, () => ({ corroboration: { currency: 'mismatch', amount: 'match' } })),
    );
  });

  test.each([
    ['amounts', /"amount":[^,]*/, '"amount":', LISTED],
    ['currencies', /"currency_in":[^,]*/, '"currency_in":', LISTED_CURRENCIES],
  ])(
    'where the service lists strange %s, only the exact amount in the billed currency pays',
    async (_name, field, name, cases) => {
      const orders = await Promise.all(cases.map(() => shop.buy()));
      const listed = new Map(orders.map(({ billId }, index) => [billId, cases[index]![0]]));
      service.lie = (list, billId) => list.replace(field, name + (listed.get(billId) ?? ''));
      await Promise.all(orders.map(({ billId }) => shop.pay(billId)));
      await shop.settle();
      service.lie = honest;
      const outcomes = await outcomesOf(orders);
      expect(cases.map(([value], index) => [value, outcomes[index]])).toEqual(cases);
    },
  );
});
