import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { redirectSignature } from 'nestjs-payment-acceptance/callbacks';
import { PaymentReviews } from 'nestjs-payment-acceptance/operations';
import { ADAPTERS } from '../support/adapters.js';
import { EU_TOKEN, MAIN_TOKEN, startHarness, type Harness } from '../support/harness.js';
import { postForm, redirectFields } from '../support/http.js';

describe.each(ADAPTERS)('redirects on %s', (adapter) => {
  let harness: Harness;
  let count = 0;
  beforeAll(async () => {
    harness = await startHarness({ adapter });
  });
  afterAll(() => harness.close());

  const target = (path: string) => `${harness.host.url}/redirect/payment/${path}`;
  async function billed(shop = 'main') {
    count += 1;
    const { billId, orderId, intentId } = await harness.host.payments
      .shop(shop)
      .createBill({ orderId: `R-${count}`, amount: '100.05' });
    const currency = shop === 'eu' ? 'EUR' : 'RUB';
    const signed = redirectFields(
      { InvId: orderId, OutSum: '100.05', CurrencyIn: currency },
      shop === 'eu' ? EU_TOKEN : MAIN_TOKEN,
    );
    return { billId, orderId, intentId, signed };
  }
  const callbacksOf = async (orderId: string) =>
    (await harness.host.ledger()).callbacks.filter((each) => each.orderId === orderId);
  /** The page that a redirect leads to. */
  const pageAfter = async (answer: Response) => fetch(new URL(answer.headers.get('location') ?? '', answer.url));

  describe('4.3 Redirect of the payer after payment', () => {
    test.each(['success', 'fail'])(
      'a form-encoded POST to redirect/payment/%s is a 303 to a page with the result and InvId (3.3)',
      async (path) => {
        const { billId, orderId } = await billed();
        const outcome = path === 'success' ? 'success' : 'fail';
        const { redirect } = await harness.sandbox.pay(billId, { outcome });
        expect(redirect!.url).toBe(target(path));
        const answer = await postForm(redirect!.url, redirect!.fields);
        expect([answer.status, answer.headers.get('cache-control')]).toEqual([303, 'no-store']);
        expect(await callbacksOf(orderId)).toContainEqual(
          expect.objectContaining({ kind: `redirect-${path}`, billId, digest: 'match' }),
        );
        await harness.settle();
        const page = await (await pageAfter(answer)).text();
        expect(page).toContain(outcome === 'success' ? 'Payment received' : 'Payment failed');
        expect(page).toContain(orderId);
      },
    );

    test.each([
      ['none', undefined],
      ['of the reference shape', `Bearer ${MAIN_TOKEN}`],
      ['with another token', 'Bearer another-token-0123456789'],
    ])('an Authorization header (%s) does not affect a redirect, and is not stored', async (_name, authorization) => {
      const { orderId, signed } = await billed();
      const answer = await fetch(target('success'), {
        method: 'POST',
        body: new URLSearchParams(signed),
        headers: authorization === undefined ? {} : { authorization },
        redirect: 'manual',
      });
      expect(answer.status).toBe(303);
      const rows: unknown = await harness.host.dataSource.query(
        'SELECT * FROM payment_acceptance.callback WHERE order_id = $1',
        [orderId],
      );
      expect(JSON.stringify(rows)).not.toMatch(/Bearer|token-0123/);
    });

    test("a redirect to the address of a shop is accepted only with that shop's token", async () => {
      const { signed } = await billed('eu');
      expect((await postForm(target('success/eu'), signed)).status).toBe(303);
      expect((await postForm(target('success'), signed)).status).toBe(403);
      expect((await postForm(target('success/unknown'), signed)).status).toBe(404);
    });
  });

  describe('2.4 Redirect fields', () => {
    test('a redirect needs InvId, OutSum and CurrencyIn, and its 400 names missing or invalid ones', async () => {
      const answer = await postForm(target('success'), { OutSum: 'a lot', CurrencyIn: 'rubles', SignatureValue: 'x' });
      expect(answer.status).toBe(400);
      const { errors } = (await answer.json()) as { errors: { field: string; errors: string[] }[] };
      expect(errors.map(({ field }) => field).sort()).toEqual(['CurrencyIn', 'InvId', 'OutSum']);
      expect(errors.find(({ field }) => field === 'OutSum')!.errors).toEqual([
        'OutSum must be a decimal such as 100.05',
      ]);
    });

    test.each([
      ['a currency in small letters', { CurrencyIn: 'rub' }],
      ['no currency', { CurrencyIn: '' }],
      ['a decimal comma', { OutSum: '100,05' }],
    ])('a browser whose redirect is refused sees a page: %s', async (_what, wrong) => {
      const { signed } = await billed();
      const headers = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' };
      const body = new URLSearchParams({ ...signed, ...wrong } as Record<string, string>);
      const answer = await fetch(target('success'), { method: 'POST', body, headers, redirect: 'manual' });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8']);
      expect(await answer.text()).toContain('Open your order in the shop to see its status.');
    });

    test.each(['success', 'fail', 'success/eu', 'fail/nobody'])(
      'a GET of redirect/payment/%s shows a page that does not mention a payment',
      async (path) => {
        const answer = await fetch(target(path));
        expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
        expect(await answer.text()).toContain('Open your order in the shop to see its status.');
      },
    );

    test.each(['USD', 'RUB', 'EUR', 'KZT'])('a redirect may have the CurrencyIn %s', async (CurrencyIn) => {
      const { signed } = await billed();
      expect((await postForm(target('success'), { ...signed, CurrencyIn })).status).toBe(303);
    });

    test('a redirect with a field sent twice is refused', async () => {
      const { signed } = await billed();
      const twice = new URLSearchParams([...Object.entries(signed), ['InvId', 'R-other']]);
      const answer = await fetch(target('success'), { method: 'POST', body: twice, redirect: 'manual' });
      expect(answer.status).toBe(400);
    });

    test("a redirect's custom with an intent id names the attempt, and unknown fields are ignored", async () => {
      const first = await billed();
      await harness.host.payments.createBill({ orderId: first.orderId, amount: '7' }, { newAttempt: true });
      const answer = await postForm(target('success'), { ...first.signed, custom: first.intentId, Extra: '1' });
      expect(answer.status).toBe(303);
      expect(await callbacksOf(first.orderId)).toMatchObject([
        {
          billId: first.billId,
          corroboration: { order: 'match', amount: 'match', currency: 'match', custom: 'match' },
        },
      ]);
    });
  });

  describe('5.4 SignatureValue', () => {
    test("a redirect's SignatureValue is the published formula over the sent text, upper case, 32 characters", async () => {
      expect(redirectSignature('100.05', 'order-1', 'secret-token')).toBe('D82A7541D92CE464621B3425EC74DF97');
      const { signed } = await billed();
      expect(signed.SignatureValue).toMatch(/^[0-9A-F]{32}$/);
      const same = { ...signed, OutSum: '100.050' };
      expect((await postForm(target('success'), same)).status).toBe(403);
      const SignatureValue = redirectSignature('100.050', signed.InvId!, MAIN_TOKEN);
      expect((await postForm(target('success'), { ...same, SignatureValue })).status).toBe(303);
    });

    test.each([
      ['of another amount', { OutSum: '1.00' }],
      ['of another order', { InvId: 'R-1000000' }],
      ['in lower case', (value: string) => value.toLowerCase()],
      ['of another token', (_value: string, orderId: string) => redirectSignature('100.05', orderId, EU_TOKEN)],
      ['cut short', (value: string) => value.slice(0, 31)],
      ['made of nothing', () => '0'.repeat(32)],
    ])('a redirect with a digest %s is answered 403, and not stored', async (_name, change) => {
      const { orderId, signed } = await billed();
      const wrong = typeof change === 'function' ? { SignatureValue: change(signed.SignatureValue!, orderId) } : change;
      const { callbacks: before } = await harness.host.ledger();
      const answer = await postForm(target('success'), { ...signed, ...wrong });
      expect([answer.status, (await harness.host.ledger()).callbacks]).toEqual([403, before]);
      expect(await answer.text()).not.toContain(orderId);
    });
  });

  describe('5.5 SignatureValue is checked when present', () => {
    test.each([{ SignatureValue: undefined }, { SignatureValue: '' }])(
      'a redirect without a digest (%j) shows a neutral page, without a look-up or a check',
      async (change) => {
        const { orderId, signed } = await billed();
        const fields = Object.entries({ ...signed, ...change }).filter(
          (entry): entry is [string, string] => entry[1] !== undefined,
        );
        for (const InvId of [orderId, 'R-of-nobody']) {
          const answer = await postForm(target('success'), { ...Object.fromEntries(fields), InvId });
          const page = await answer.text();
          expect([answer.status, answer.headers.get('location')]).toEqual([200, null]);
          expect(page.replace(InvId, '')).toContain('Open your order in the shop to see its status.');
          expect(page).toContain(InvId);
          expect(page).not.toMatch(/100\.05|paid|received/i);
        }
        expect(await callbacksOf(orderId)).toEqual([]);
      },
    );

    test('a redirect with a digest for an unknown order shows the neutral page', async () => {
      const answer = await postForm(target('success'), redirectFields({ InvId: 'R-of-nobody', OutSum: '1.00' }));
      expect([answer.status, answer.headers.get('location')]).toEqual([200, null]);
    });
  });

  describe('3.3 the message with the payment result and the InvId', () => {
    test('the result page shows the stored state, not what the redirect says', async () => {
      for (const path of ['success', 'fail']) {
        const { orderId, signed } = await billed();
        const page = await pageAfter(await postForm(target(path), signed));
        expect([page.status, page.headers.get('refresh')]).toEqual([200, '2']);
        const text = await page.text();
        expect(text).toContain('Checking your payment');
        expect(text).toContain(orderId);
      }
    });

    test('the result page of a payment under review says so at once, and that it failed once the review is dismissed', async () => {
      const { billId } = await billed();
      const { redirect } = await harness.sandbox.pay(billId, { amount: '1.00' });
      const redirected = await postForm(redirect!.url, redirect!.fields);
      await harness.settle();
      harness.clock.advance(60_000);
      await harness.settle();
      const page = await pageAfter(redirected);
      expect([page.status, page.headers.get('refresh')]).toEqual([200, null]);
      expect(await page.text()).toContain('We are checking your payment');
      const { id } = (await harness.host.ledger()).reviews.find((review) => review.state === 'OPEN')!;
      await harness.host.app.get(PaymentReviews).dismiss(id, { operator: 'ann' });
      expect(await (await pageAfter(redirected)).text()).toContain('Payment failed');
    });

    test('the result page shows a known failure at once, but not where a success may follow', async () => {
      const { billId } = await billed();
      const { redirect } = await harness.sandbox.pay(billId, { outcome: 'fail' });
      await harness.settle();
      const failed = await pageAfter(await postForm(redirect!.url, redirect!.fields));
      expect(await failed.text()).toContain('Payment failed');
      const hopeful = await pageAfter(await postForm(target('success'), redirect!.fields));
      expect(await hopeful.text()).toContain('Checking your payment');
      await harness.settle();
    });

    test('the result page forbids storing, referrers, frames and scripts', async () => {
      const { signed } = await billed();
      const { headers } = await pageAfter(await postForm(target('success'), signed));
      expect(Object.fromEntries(headers)).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'content-security-policy': expect.stringContaining("default-src 'none'") as unknown,
      });
      expect((await fetch(target('result/R-1'))).status).toBe(404);
    });

    test('the result page is gone after an hour', async () => {
      const { signed } = await billed();
      const answer = await postForm(target('success'), signed);
      expect((await pageAfter(answer)).status).toBe(200);
      harness.clock.advance(3_601_000);
      expect((await pageAfter(answer)).status).toBe(404);
    });
  });
});
