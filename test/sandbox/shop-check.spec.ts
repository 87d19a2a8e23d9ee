import { afterEach, describe, expect, test } from '@jest/globals';
import { answer, behindPrefix, type Shop, Trial } from './trial.js';

describe('the sandbox checks a shop', () => {
  let trial: Trial;
  afterEach(() => trial.close());

  const checked = async (shop: Shop | 'down', path?: string) => {
    trial = await Trial.open(shop, path, { diagnose: false });
    await trial.pay();
    const response = await fetch(`${trial.running.url}/sandbox/shops/main/check`, { method: 'POST' });
    const { addresses } = (await response.json()) as { addresses: { verdict: string; says: string }[] };
    return addresses.map(({ verdict, says }) => [verdict, says] as const);
  };

  test('the check of a shop reports what the service would see at each address', async () => {
    const [result, success, fail] = await checked(behindPrefix('/api'));
    expect(result).toEqual(['bad', expect.stringContaining('/api/postback answers (200)')]);
    expect(success).toEqual(['bad', expect.stringContaining('/api/postback answers (200)')]);
    expect(fail).toEqual(['warn', expect.stringContaining('no address is set')]);
    const page = await fetch(`${trial.running.url}/sandbox/console/shops/main`, { headers: { accept: 'text/html' } });
    expect(await page.text()).toContain('the address lacks a global prefix');
  });

  test.each<[string, Shop | 'down', string, string]>([
    ['takes it', answer(200, 'OK'), 'good', 'it accepts postbacks'],
    ['refuses it, and a genuine one', answer(403), 'warn', 'and to one with a correct signature: pay a bill'],
    [
      'checks the digest',
      ({ url: _url }, body, response) => response.writeHead(body.includes('0'.repeat(32)) ? 403 : 404).end(),
      'good',
      'it understands postbacks',
    ],
    [
      'reads only forms',
      ({ headers }, body, response) => {
        const isRead = headers['content-type']!.includes('form');
        response.writeHead(!isRead ? 400 : body.includes('0'.repeat(32)) ? 403 : 404).end();
      },
      'bad',
      '(postbackFormat) to form',
    ],
    [
      'answers JSON with OK, unread, and reads forms',
      ({ headers }, body, response) => {
        const isRead = headers['content-type']!.includes('form');
        response.writeHead(!isRead ? 200 : body.includes('0'.repeat(32)) ? 403 : 404).end(isRead ? '' : 'OK');
      },
      'bad',
      'does not read JSON, but understood a test postback sent as a form',
    ],
    ['fails', answer(500), 'bad', 'the shop failed'],
    ['redirects', answer(302, '', { location: '/login' }), 'bad', 'leads to a login'],
    ['answers a page', answer(200, '<html>', { 'content-type': 'text/html' }), 'warn', 'the answer is a page'],
    ['answers 404 everywhere', answer(404), 'warn', 'or this is how it answers for an unknown order'],
    ['is down', 'down', 'bad', 'nothing is listening'],
  ])('the check of a shop recognises one that %s', async (_what, shop, verdict, says) => {
    const [result] = await checked(shop);
    expect(result).toEqual([verdict, expect.stringContaining(says)]);
  });

  test('the result of a check is no longer shown once the settings have changed', async () => {
    await checked(answer(500));
    const page = async (): Promise<string> =>
      (await fetch(`${trial.running.url}/sandbox/console/shops/main`, { headers: { accept: 'text/html' } })).text();
    expect(await page()).toContain('the shop failed');
    await trial.running.sandbox.putShop('main', { postbackFormat: 'form' });
    expect(await page()).not.toContain('the shop failed');
  });

  test('the check of an unknown shop is answered 404', async () => {
    trial = await Trial.open(answer(200));
    await trial.pay();
    expect((await fetch(`${trial.running.url}/sandbox/shops/none/check`, { method: 'POST' })).status).toBe(404);
  });
});
