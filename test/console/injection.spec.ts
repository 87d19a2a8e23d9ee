import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PaymentNonRetryableError, OnPaymentSucceeded } from 'nestjs-payment-acceptance';
import { PaymentConsoleModule } from 'nestjs-payment-console';
import { MARKUP, skeletonOf, tagsOf } from '../attacks/support/markup.js';
import { startHarness, type Harness } from '../support/harness.js';
import { postbackFields, postJson } from '../support/http.js';
import { linksOf, Operator, type Answer } from './support/operator.js';

class Failing {
  /** What it says when it fails. */
  static says = 'plain';

  @OnPaymentSucceeded({ consumer: 'orders' })
  never(): void {
    throw new PaymentNonRetryableError(Failing.says);
  }
}

let harness: Harness;
let operator: Operator;
/** The operator's name, as the guard reports it. */
let name = 'ann';

/** Records that hold the text in every field that comes from outside; gives every page that shows them. */
async function pagesAbout(text: string): Promise<Answer[]> {
  const { dataSource, payments } = harness.host;
  const tables = [
    'bill',
    'payment',
    'callback',
    'event',
    'delivery',
    'review',
    'operator_action',
    'shop_order',
    'lost_bill',
  ];
  await dataSource.query(`TRUNCATE ${tables.map((table) => `payment_acceptance.${table}`).join(', ')}`);
  await dataSource.query(`UPDATE payment_acceptance.shop_state SET refused_since = NULL, refused_reason = NULL`);
  Failing.says = text;
  name = text;
  const { intentId, billId } = await payments.createBill({
    orderId: 'order',
    amount: '10',
    description: 'description',
    custom: 'custom',
  });
  await harness.sandbox.pay(billId);
  await harness.settle();
  const fields = { ...postbackFields({ InvId: text, OutSum: text, TrsId: billId, Status: text }), custom: text };
  await postJson(`${harness.host.url}/postback/payment`, { ...fields, [text]: text, nested: { [text]: [text] } });
  await postJson(`${harness.host.url}/postback/payment`, { ...fields, TrsId: `nobody-${text}` });
  await harness.settle();
  // What no callback can write is inserted by hand, since texts of the host or the service may change one day.
  for (const statement of [
    `INSERT INTO payment_acceptance.shop_order (shop, order_id) VALUES ('main', $1)`,
    `UPDATE payment_acceptance.shop_order SET first_payment_id = $1`,
    `UPDATE payment_acceptance.bill SET order_id = $1, currency = $1`,
    `UPDATE payment_acceptance.bill SET description = $1, custom = $1, link_page_url = $1, last_check_error = $1, failure = $1`,
    `UPDATE payment_acceptance.payment SET service_status = $1, currency = $1, from_card = $1, service_created_at = $1`,
    `UPDATE payment_acceptance.shop_state SET refused_since = now(), refused_reason = $1`,
  ]) {
    await dataSource.query(statement, [text]);
  }
  await dataSource.query(`UPDATE payment_acceptance.bill SET bill_id = $1`, [`${text}b`]);
  const [{ bill }] = await dataSource.query<[{ bill: string }]>(
    `SELECT intent_id AS bill FROM payment_acceptance.bill`,
  );
  const detail = {
    billed: { amount: text, currency: text },
    listed: { status: text, amount: text, currency: `${text} other` },
  };
  await dataSource.query(
    `INSERT INTO payment_acceptance.review (id, "key", shop, order_id, intent_id, payment_id, reason, detail, state, opened_at)
     VALUES (gen_random_uuid(), 'k', 'main', $1, $2, $1, $1, $3, 'OPEN', now() - interval '2 hours')`,
    [text, bill, JSON.stringify(detail)],
  );
  await dataSource.query(
    `INSERT INTO payment_acceptance.operator_action (id, at, operator, action, target, detail)
     VALUES (gen_random_uuid(), now(), $1, $1, $2, $3),
       (gen_random_uuid(), now() - interval '1 hour', $1, 'replay', $1, $4)`,
    [text, intentId, JSON.stringify({ note: text }), JSON.stringify({ note: text, filter: { consumer: text } })],
  );
  await dataSource.query(
    `INSERT INTO payment_acceptance.lost_bill (id, shop, bill_id, state, asks, asked_at, order_id, first_postback_at,
       payments, listed, found_at)
     VALUES ('0b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d', 'main', $1, 'LOST', 1, now(), $1, now(), $2, 2, now())`,
    [`${text}l`, JSON.stringify([listedPayment(text)])],
  );
  const said = encodeURIComponent(text);
  const [{ review }] = await dataSource.query<[{ review: string }]>(
    `SELECT id AS review FROM payment_acceptance.review`,
  );
  const open = async (path: string): Promise<Answer> => operator.open(path);
  const pages = [
    await open(''),
    await open('bills'),
    await open(`bills?q=${said}`),
    await open(`bills?shop=${said}&before=${said}`),
    await open(`bills/${intentId}`),
    await open('reviews'),
    await open('dead-letters'),
    await open(`dead-letters?consumer=${said}&event=${said}&shop=${said}&orderId=${said}&after=${said}`),
    await open('log'),
    await open(`reviews?done=${said}&count=${said}&bill=${said}`),
    await open(`actions/accept-review/${review}`),
    await operator.submit(await open(`actions/accept-review/${review}`), { amount: text, note: text, csrf: text }),
    await operator.submit(await open(`actions/accept-review/${review}`), { amount: `${text} `, note: text }),
    await open('actions/replay/all'),
    await open('lost-bills'),
    await open(`lost-bills?done=${said}&after=${said}`),
    await operator.submit(await open(TAKE_IN), { orderId: text, amount: text, currency: text, note: text }),
    await operator.submit(await open(TAKE_IN), { orderId: text, amount: '1', currency: text, note: text }),
    await open('actions/dismiss-lost-bill/0b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d'),
  ];
  await dataSource.query(`UPDATE payment_acceptance.bill SET state = 'UNKNOWN', bill_id = NULL`);
  return [
    ...pages,
    await open('unknown-outcomes'),
    await open(`bills/${intentId}`),
    await open(`actions/attach-bill/${intentId}`),
    await operator.submit(await open(`actions/attach-bill/${intentId}`), {
      billId: `${text} x`,
      linkPageUrl: text,
      note: text,
    }),
  ];
}

const TAKE_IN = 'actions/take-in-bill/0b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d';

function listedPayment(text: string): object {
  return {
    ...{ paymentId: text, status: 'UNKNOWN', statusText: text, amount: text, currency: text, fromCard: text },
    createdAtText: text,
    createdAt: null,
  };
}

describe('markup in every field that comes from outside', () => {
  beforeAll(async () => {
    harness = await startHarness({
      providers: [Failing],
      imports: [PaymentConsoleModule.register({ operator: () => name })],
      options: { http: { attempts: 1 } },
    });
    operator = new Operator(`${harness.host.url}/payment-console`);
  });
  afterAll(() => harness.close());

  let plain: Answer[];
  beforeAll(async () => {
    plain = await pagesAbout('plain-text');
  });

  test('every page under test shows the text of the outside fields', () => {
    const texts = plain.map(({ text }) => text.includes('plain-text'));
    expect(texts.filter(Boolean).length).toBe(plain.length);
  });

  test('bidirectional and terminal control characters are shown as a mark', async () => {
    const pages = await pagesAbout('A\u202eB\u2066C\u009b2J');
    for (const { html } of pages) {
      expect(html).not.toMatch(/[\u200e\u200f\u202a-\u202e\u2066-\u2069\u0080-\u009f]/);
    }
    expect(pages.filter(({ html }) => html.includes('A\ufffdB\ufffdC\ufffd2J')).length).toBeGreaterThan(5);
  });

  test.each(MARKUP)('%j changes no tag of any page, loads nothing and leads nowhere', async (markup) => {
    const pages = await pagesAbout(markup);
    for (const [index, page] of pages.entries()) {
      expect({ index, status: page.status, tags: skeletonOf(page.html) }).toEqual({
        index,
        status: plain[index]!.status,
        tags: skeletonOf(plain[index]!.html),
      });
      expect(tagsOf(page.html).filter(({ name }) => name === 'script' || name === 'iframe' || name === 'img')).toEqual(
        [],
      );
      for (const link of linksOf(page)) expect(link.startsWith(operator.home)).toBe(true);
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    }
  });
});
