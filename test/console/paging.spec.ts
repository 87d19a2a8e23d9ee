import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { PaymentConsoleModule } from 'nestjs-payment-console';
import { startHarness, type Harness } from '../support/harness.js';
import { postbackFields, postJson } from '../support/http.js';
import { linksOf, Operator, type Answer } from './support/operator.js';
import { Bookkeeper } from './support/records.js';

const NUMBER = 120;
/** Rows of one page. */
const PAGE = 20;
/** With the stylesheet, a page stays below 50 KB. */
const LARGEST_BYTES = 36 * 1024;

let harness: Harness;
let operator: Operator;

describe('paging', () => {
  beforeAll(async () => {
    harness = await startHarness({ providers: [Bookkeeper], imports: [PaymentConsoleModule.register()] });
    operator = new Operator(`${harness.host.url}/payment-console`);
    const rows = Array.from({ length: NUMBER }, (_, index) => {
      const name = String(index + 1).padStart(3, '0');
      // Many have the same timestamp, and are ordered by id.
      const at = `now() - interval '${Math.floor((index + 1) / 10)} minutes'`;
      return { name, order: `o-${name}`, bill: randomUUID(), state: index % 2 === 0 ? 'UNKNOWN' : 'OPEN', at };
    });
    const insert = (columns: string, values: (row: (typeof rows)[number]) => string) =>
      harness.host.dataSource.query(`INSERT INTO payment_acceptance.${columns} VALUES ${rows.map(values).join(', ')}`);
    await insert('shop_order (shop, order_id)', ({ order }) => `('main', '${order}')`);
    await insert(
      `bill (intent_id, shop, shop_id, order_id, attempt, state, amount, currency, payer_pays_commission, type, custom, custom_given,
       created_at, check_after)`,
      ({ bill, order, state, at }) =>
        `('${bill}', 'main', 'main', '${order}', 1, '${state}', 1, 'RUB', false, 'normal', '${bill}', false, ${at}, now())`,
    );
    await insert(
      'review (id, "key", shop, order_id, intent_id, reason, detail, state, opened_at)',
      ({ name, order, bill, at }) =>
        `('${randomUUID()}', '${name}', 'main', '${order}', '${bill}', 'uncheckable', '{}', 'OPEN', ${at})`,
    );
    await insert(
      'event (id, "key", name, shop, intent_id, payload, occurred_at)',
      ({ name, bill }) => `('${randomUUID()}', '${name}', 'payment.succeeded', 'main', '${bill}', '{}', now())`,
    );
    await harness.host.dataSource.query(
      `INSERT INTO payment_acceptance.delivery (event_id, event_name, seq, intent_id, consumer, state, due_at)
     SELECT id, name, seq, intent_id, 'orders', 'DEAD', now() FROM payment_acceptance.event ORDER BY seq`,
    );
    await insert(
      'operator_action (id, at, operator, action, target, detail)',
      ({ bill, at }) => `('${randomUUID()}', ${at}, 'ann', 'void-bill', '${bill}', '{}')`,
    );
  });
  afterAll(() => harness.close());

  /** Follows the paging links, and returns the orders of each page. */
  async function walk(path: string, label: string): Promise<string[][]> {
    const pages: string[][] = [];
    let page: Answer = await operator.open(path);
    for (;;) {
      expect(page.status).toBe(200);
      expect(Buffer.byteLength(page.html)).toBeLessThan(LARGEST_BYTES);
      const orders = [...page.html.matchAll(/<a href="[^"]*bills\/[0-9a-f-]{36}">(o-\d+)<\/a>/g)].map(
        ([, order]) => order!,
      );
      pages.push(orders);
      const onward = page.html.includes(`>${label}<`);
      const link = linksOf(page).findLast((each) => /[?&](before|after)=/.test(each));
      if (!onward || link === undefined) return pages;
      page = await operator.follow(page, link);
    }
  }

  test.each([
    ['bills', 'Older', NUMBER],
    ['bills?state=OPEN&shop=main', 'Older', NUMBER / 2],
    ['unknown-outcomes', 'Older', NUMBER / 2],
    ['reviews', 'Later', NUMBER],
    ['dead-letters', 'More', NUMBER],
    ['dead-letters?consumer=orders', 'More', NUMBER],
    ['log', 'Older', NUMBER],
  ])('paging through %s shows every row exactly once', async (path, label, number) => {
    const pages = await walk(path, label);
    expect(pages.map(({ length }) => length)).toEqual(Array.from({ length: number / PAGE }, () => PAGE));
    expect(new Set(pages.flat()).size).toBe(number);
  });

  test('a row that is added while somebody pages makes no row appear twice', async () => {
    const first = await operator.open('bills');
    await harness.host.payments.createBill({ orderId: 'o-new', amount: '1' });
    const link = linksOf(first).findLast((each) => each.includes('before='))!;
    const second = await operator.follow(first, link);
    const orders = (page: Answer): string[] => [...(page.html.match(/(?<=">)o-\d+(?=<)/g) ?? [])];
    expect([orders(first).length, orders(second).length]).toEqual([PAGE, PAGE]);
    expect(orders(second).filter((order) => orders(first).includes(order))).toEqual([]);
    expect(second.text).toContain('Newest');
  });

  test('the overview counts all dead letters of all pages, and a replay of all replays them', async () => {
    expect((await operator.open()).text).toContain(`Dead letters ${NUMBER}`);
    expect((await operator.open('actions/replay/all')).text).toContain(`Replay ${NUMBER} dead letters?`);
    const done = await operator.confirm('actions/replay/all');
    expect(done.text).toContain(`${NUMBER} dead letters are being retried.`);
    const none = await operator.open('dead-letters?done=replayed&count=0');
    expect(none.text).toContain('Nothing was replayed: no dead letter matches any more.');
  });

  test('a bill with as many callbacks as are kept shows the first, the newest, and a link to all of them', async () => {
    const { intentId, billId } = await harness.host.payments.createBill({ orderId: 'flooded', amount: '10' });
    for (let n = 0; n < 100; n += 1) {
      const fields = postbackFields({ InvId: 'flooded', TrsId: billId, OutSum: `${n}.00`, Status: `LIE-${n}` });
      expect((await postJson(`${harness.host.url}/postback/payment`, fields)).status).toBe(200);
    }
    const told = ({ text }: Answer) => Array.from(text.matchAll(/"Status": "LIE-(\d+)"/g), ([, n]) => Number(n));
    const page = await operator.open(`bills/${intentId}`);
    expect(Buffer.byteLength(page.html)).toBeLessThan(LARGEST_BYTES);
    expect(told(page)).toEqual([0, 1, ...Array.from({ length: 10 }, (_, index) => 90 + index)]);
    expect(page.text).toContain('88 callbacks between the first and the newest are not shown.');
    const whole = await operator.follow(
      page,
      linksOf(page).find((link) => link.includes('callbacks=all'))!,
    );
    expect(told(whole)).toEqual(Array.from({ length: 100 }, (_, index) => index));
  });
});
