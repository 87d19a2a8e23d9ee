import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PaymentConsoleModule } from 'nestjs-payment-console';
import { ADAPTERS, ONE_ADAPTER } from '../support/adapters.js';
import { startHarness, type Harness } from '../support/harness.js';
import { Operator } from './support/operator.js';

/** As they occur in an address: NUL, half a surrogate pair, a very long text, invalid encoding, SQL, a number that is too large. */
const TEXTS = [
  '%00',
  'a%00b',
  '%ED%A0%80',
  '%ED%B0%80x',
  'x'.repeat(10_000),
  '%FF%FE',
  "'%20OR%201=1--",
  '9'.repeat(18),
  '9'.repeat(40),
  '-1',
  '1e3',
  '__proto__',
  'constructor',
  '00000000-0000-0000-0000-000000000000',
];

const LISTS: readonly [string, readonly string[]][] = [
  ['', ['shop', 'done', 'count', 'bill']],
  ['bills', ['q', 'shop', 'state', 'before', 'done']],
  ['reviews', ['after', 'shop', 'done', 'bill']],
  ['dead-letters', ['after', 'consumer', 'event', 'shop', 'orderId', 'done', 'count']],
  ['unknown-outcomes', ['before', 'done', 'bill']],
  ['lost-bills', ['after', 'done', 'bill']],
  ['log', ['before']],
  ['actions/replay/all', ['consumer', 'event', 'shop', 'orderId']],
];

/** The only shop that the operator may see, as the option `shop` returns it. */
let shop: string | null = null;

describe.each(ADAPTERS)('on %s, whatever stands in an address of the console', (adapter) => {
  let harness: Harness;
  let operator: Operator;
  beforeAll(async () => {
    const imports = [PaymentConsoleModule.register({ shop: () => shop })];
    harness = await startHarness({ adapter, imports });
    operator = new Operator(`${harness.host.url}/payment-console`);
    await harness.host.payments.createBill({ orderId: 'o', amount: '1' });
  });
  afterAll(() => harness.close());

  test.each(LISTS)('/%s answers any parameters with a list or a refusal', async (path, names) => {
    // How an address is parsed depends on the adapter; what is looked up afterwards does not.
    for (shop of ONE_ADAPTER.includes(adapter) ? [null, 'main'] : [null]) {
      for (const [at, name] of names.entries()) {
        for (const text of TEXTS) {
          // These forms are parsed before the name is looked up.
          const further = at === 0 ? [`${name}=${text}&${name}=x`, `${name}[]=${text}`, `${text}=${name}`] : [];
          for (const query of [`${name}=${text}`, ...further]) {
            const { status } = await operator.open(`${path}?${query}`);
            if (status >= 500) throw new Error(`${path}?${query.slice(0, 100)} is answered ${status}.`);
          }
        }
      }
    }
  });

  test.each([
    'bills/',
    'actions/replay/',
    'actions/accept-review/',
    'actions/attach-bill/',
    'actions/void-bill/',
    'assets/',
  ])('/%s refuses any id that is not there', async (path) => {
    for (const text of TEXTS) expect([400, 404, 409, 414]).toContain((await operator.open(`${path}${text}`)).status);
  });

  test('a filter by an unknown shop lists no bill, and one by a known shop lists its bills', async () => {
    shop = null;
    expect((await operator.open('bills?shop=%00nowhere')).text).toContain('No bills match.');
    const { status, text } = await operator.open('bills?shop=ma%00in');
    expect([status, text]).toEqual([200, expect.stringMatching(/ RUB main .* UTC$/)]);
  });

  test('an operator of a shop whose name no shop can have sees nothing', async () => {
    for (shop of ['\0', 'x'.repeat(10_000), '\ud800', '__proto__']) {
      expect((await operator.open('bills')).status).toBe(403);
    }
  });
});
