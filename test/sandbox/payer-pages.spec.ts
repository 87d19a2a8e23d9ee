import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Answer, Fixture, StillClock } from './fixture.js';

const CARD = { card: '4111 1111 1111 1111', expiry: '11/26', cvc: '123' };

describe('the payer’s pages', () => {
  let fixture: Fixture;
  beforeEach(async () => {
    fixture = await Fixture.open({ clock: new StillClock(), processingTime: '1s' });
  });
  afterEach(() => fixture.close());

  const page = (path: string): Promise<Answer> => fixture.call(path);
  const submit = (billId: string, form: Record<string, string>): Promise<Answer> =>
    fixture.call(`/transfer/${billId}`, { method: 'POST', body: new URLSearchParams(form) });
  const heading = ({ text }: Answer): string => /<h1[^>]*>([^<]*)</.exec(text)?.[1] ?? '';
  const unescape = (text: string): string =>
    text.replace(
      /&(amp|lt|gt|quot|#39);/g,
      (_, name: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"' })[name] ?? "'",
    );
  const hiddenFields = ({ text }: Answer): Record<string, string> =>
    Object.fromEntries(
      [...text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(([, name, value]) => [
        name,
        unescape(value!),
      ]),
    ) as Record<string, string>;

  test.each([
    [CARD.card, '/success', 'Payment successful'],
    ['4000000000000002', '/fail', 'Payment failed'],
  ])(
    'with the card %s a payer goes from the link by the card form to the redirect to %s',
    async (card, path, result) => {
      const billId = await fixture.bill({ description: 'Green tea', order_id: '7', custom: '<"&\'>' });
      const link = await page(`/link/${billId}`);
      expect(link.text).toContain('Green tea');
      expect(link.text).toContain('100.05 RUB');
      expect(link.text).toContain(`href="/transfer/${billId}"`);

      const form = await page(`/transfer/${billId}`);
      expect(form.text).toContain(`method="post" action="/transfer/${billId}"`);

      const submitted = await submit(billId, { ...CARD, card });
      const address = submitted.headers.get('location')!;
      const [payment] = fixture.sandbox.bill(billId).payments;
      expect([submitted.status, address]).toEqual([303, `/transfer/${billId}/payments/${payment!.id}`]);
      expect(payment!.status).toBe('NEW');

      const processing = await page(address);
      expect(heading(processing)).toBe('Processing the payment');
      expect(processing.text).toContain(`http-equiv="refresh" content="1;url=${address}"`);
      await fixture.sandbox.advanceClock('1s');
      expect(fixture.sandbox.bill(billId).payments[0]!.status).toBe('PROCESS');
      await fixture.sandbox.advanceClock('1s');

      const done = await page(address);
      expect(heading(done)).toBe(result);
      expect(done.text).toContain(`id="return" method="post" action="${fixture.shopServer.url}${path}"`);
      expect(done.text).toContain('<button>Return to the shop</button>');
      expect(hiddenFields(done)).toEqual({
        InvId: '7',
        OutSum: '100.05',
        CurrencyIn: 'RUB',
        custom: '<"&\'>',
        SignatureValue: expect.stringMatching(/^[0-9A-F]{32}$/),
      });
      await fixture.sandbox.settled();
      expect(fixture.shopServer.requests).toHaveLength(1);
    },
  );

  test("the payer's pages escape foreign text, and have a strict policy", async () => {
    const markup = '<script>alert(1)</script>';
    const billId = await fixture.bill({ description: markup, name: markup, order_id: markup });
    const pages = [
      await page(`/link/${billId}`),
      await page(`/transfer/${billId}`),
      await submit(billId, { card: markup, expiry: '"><b>', cvc: markup }),
      await page(`/transfer/${encodeURIComponent(markup)}`),
      await fixture.call('/sandbox', { headers: { accept: 'text/html' } }),
    ];
    for (const { text, headers } of pages) {
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(text).not.toContain(markup);
      expect(text).not.toContain('"><b>');
      expect(text).not.toMatch(/<script>| on\w+=| style=/);
      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(headers.get('content-security-policy')).not.toContain('unsafe');
      expect(headers.get('cache-control')).toBe('no-store');
    }
  });

  test("the payer's pages load style and script from addresses of their own", async () => {
    const style = await page('/sandbox/assets/style.css');
    const script = await page('/sandbox/assets/return.js');
    expect([style.status, style.headers.get('content-type')]).toEqual([200, 'text/css; charset=utf-8']);
    expect([script.status, script.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
  });

  test.each([
    [{ ...CARD, card: '' }, 'card', 'Enter the card number'],
    [{ ...CARD, card: '4111 1111 1111 1112' }, 'card', 'not a card number'],
    [{ ...CARD, expiry: '' }, 'expiry', 'Enter month and year'],
    [{ ...CARD, expiry: '13/30' }, 'expiry', 'Enter month and year'],
    [{ ...CARD, expiry: '10/26' }, 'expiry', 'expired'],
    [{ ...CARD, cvc: '12' }, 'cvc', 'three or four digits'],
  ])('the card form %j is refused at the field %s', async (form, field, message) => {
    const billId = await fixture.bill();
    const { status, text } = await submit(billId, form);
    expect(status).toBe(422);
    expect(text.match(/class="error" id="[\w-]+"/g)).toEqual([`class="error" id="${field}-error"`]);
    expect(text).toContain(message);
    expect(text).not.toContain('value="123"'); // the security code is not sent back
    expect(fixture.sandbox.bill(billId).payments).toEqual([]);
  });

  test('a payer who was charged before the shop was banned gets the result', async () => {
    const billId = await fixture.bill();
    const { payment } = await fixture.sandbox.pay(billId);
    await fixture.sandbox.putShop('main', { banned: true });
    const answer = await page(`/transfer/${billId}/payments/${payment.id}`);
    expect([answer.status, answer.text.includes('You were not charged')]).toEqual([200, false]);
  });

  test.each(['1/27', '12/2026', '12 26', '1126'])('the expiry %s is understood', async (expiry) => {
    expect((await submit(await fixture.bill(), { ...CARD, expiry })).status).toBe(303);
  });

  test('a payer may pay again after a failure, but not a paid bill', async () => {
    const billId = await fixture.bill();
    await fixture.sandbox.pay(billId, { outcome: 'fail' });
    expect(heading(await page(`/transfer/${billId}`))).toBe('Pay by card');
    expect((await submit(billId, CARD)).status).toBe(303);
    expect(heading(await submit(billId, CARD))).toBe('Processing the payment'); // sent twice, paid once
    await fixture.sandbox.advanceClock('2s');
    for (const answer of [
      await page(`/link/${billId}`),
      await page(`/transfer/${billId}`),
      await submit(billId, CARD),
    ]) {
      expect(heading(answer)).toBe('This bill is paid');
    }
    expect(fixture.sandbox.bill(billId).payments.map(({ status }) => status)).toEqual(['FAIL', 'SUCCESS']);
  });

  test('unknown bills and payments, and bills of a banned shop, have pages of their own', async () => {
    const billId = await fixture.bill();
    const answers = [await page('/link/x'), await page('/transfer/x'), await page(`/transfer/${billId}/payments/x`)];
    expect(answers.map((answer) => [answer.status, heading(answer)])).toEqual([
      [404, 'No such bill'],
      [404, 'No such bill'],
      [404, 'No such payment'],
    ]);
    await fixture.sandbox.putShop('main', { banned: true });
    const banned = [await page(`/link/${billId}`), await page(`/transfer/${billId}`), await submit(billId, CARD)];
    expect(banned.map((answer) => [answer.status, heading(answer)])).toEqual(
      banned.map(() => [403, 'Payment not possible']),
    );
    expect(fixture.sandbox.bill(billId).payments).toEqual([]);
  });

  test('a shop without addresses keeps the payer on the result page', async () => {
    await fixture.sandbox.putShop('main', { failUrl: null });
    const billId = await fixture.bill();
    const { payment } = await fixture.sandbox.pay(billId, { outcome: 'fail' });
    const { text } = await page(`/transfer/${billId}/payments/${payment.id}`);
    expect(text).not.toContain('<form');
    expect(text).toContain('Try again');
  });

  test('a commission that the payer bears is shown', async () => {
    await fixture.sandbox.putShop('main', { commissionPercent: 10 });
    const billId = await fixture.bill({ amount: '100', payer_pays_commission: '1' });
    expect((await page(`/transfer/${billId}`)).text).toContain('Pay 110.00 RUB');
  });
});
