import { afterEach, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { type Callback, type LogLine, signatureOf } from 'nestjs-payment-sandbox';
import { until } from '../support/until.js';
import { answer, behindPrefix, type Shop, TOKEN, Trial } from './trial.js';

/** Shops as they occur in the field, and what the sandbox says about them. */
describe("advice of the sandbox about a shop's answers to postbacks", () => {
  let trial: Trial;
  let lines: LogLine[];
  let bodies: string[];
  afterEach(() => trial.close());

  async function paid(...told: Parameters<typeof Trial.open>): Promise<Callback> {
    trial = await Trial.open(...told);
    ({ lines, bodies } = trial);
    return trial.pay();
  }

  /** The advice, which page and terminal give as well. */
  async function adviceOf(callback: Callback): Promise<string> {
    const { advice = '' } = callback.tries[0]!;
    expect(lines).toEqual([{ at: callback.tries[0]!.at, problem: true, text: expect.stringContaining(advice) }]);
    expect(lines[0]!.text).toMatch(/^postback main o-1 SUCCESS: /);
    const page = await fetch(`${trial.running.url}/sandbox/console/bills/${callback.billId}`, {
      headers: { accept: 'text/html' },
    });
    const shown = (await page.text()).replace(/<a [^>]*#\w+">(\w+)<\/a>/g, '$1'); // the setting is a link
    expect(shown).toContain(advice.replaceAll('"', '&quot;'));
    expect(advice).not.toContain(TOKEN);
    return advice;
  }

  const onlyForms: Shop = ({ headers }, body, response) =>
    headers['content-type'] === 'application/x-www-form-urlencoded' && body.includes('SignatureValue=')
      ? response.end('OK')
      : response.writeHead(400).end('fields missing');
  const lowerCaseDigest: Shop = (_request, body, response) => {
    if (!body.startsWith('{')) return response.writeHead(400).end('no JSON');
    const { OutSum, InvId, SignatureValue } = JSON.parse(body) as Record<string, string>;
    const expected = createHash('md5').update(`${OutSum}:${InvId}:${TOKEN}`).digest('hex');
    return response.writeHead(SignatureValue === expected ? 200 : 400).end('bad sign');
  };

  test('the advice about a 404 names a missing global prefix', async () => {
    const callback = await paid(behindPrefix('/api'));
    const { origin } = new URL(callback.tries[0]!.url);
    expect(await adviceOf(callback)).toBe(
      `there is nothing at ${origin}/postback, but ${origin}/api/postback answers (200): the address lacks a global prefix`,
    );
  });

  test('the advice about a 404 names an extra prefix in the address', async () => {
    expect(await adviceOf(await paid(behindPrefix(''), '/api/postback'))).toContain('the address has an extra prefix');
  });

  test('the advice about a 404 says that the shop has no route for the postback', async () => {
    expect(await adviceOf(await paid(answer(404)))).toMatch(
      /no route for a POST to .*\/postback: .*\/api\/postback\)$/,
    );
  });

  test('the advice for a shop that reads only forms delivers the postback as a form', async () => {
    const callback = await paid(onlyForms);
    expect(await adviceOf(callback)).toMatch(
      /does not read JSON, but understood a test postback sent as a form, .* \(200\): .*\(postbackFormat\) to form$/,
    );
    expect(callback.tries[0]!.remedy).toBe('form');
    await fetch(`${trial.running.url}/sandbox/console/callbacks/${callback.id}/replay`, {
      method: 'POST',
      body: new URLSearchParams({ format: 'form' }),
    });
    await trial.running.sandbox.settled();
    const [, again] = trial.running.sandbox.bill(callback.billId).callbacks;
    expect(again).toMatchObject({ state: 'delivered', fields: callback.fields, tries: [{ format: 'form' }] });
  });

  test('the advice for a shop that compares the digest in lower case says so', async () => {
    expect(await adviceOf(await paid(lowerCaseDigest))).toBe(
      'SignatureValue is the MD5 of "100.05:o-1:" and the API token (72|…) in upper-case hexadecimal, computed over the values exactly as sent: ' +
        'the shop accepts it only in lower case, so make the comparison case-insensitive',
    );
  });

  test('the advice for a shop that is down says that nothing is listening', async () => {
    expect(await adviceOf(await paid('down'))).toContain('nothing is listening at 127.0.0.1:9: is the shop running');
  });

  test.each<[string, Shop, string | RegExp]>([
    ['fails', answer(500), 'the shop failed while handling the postback: see its log'],
    ['answers 201', answer(201), 'only 200 counts as delivered, so it will be retried (in NestJS: @HttpCode(200))'],
    ['answers 415', answer(415), /probably does not read JSON: make the handler read both/],
    ['answers 405', answer(405), 'does not accept POST'],
    ['answers 419', answer(419), 'CSRF'],
    [
      'answers 403',
      answer(403),
      /a guard in front of the route.* or the shop considers the signature wrong: SignatureValue is/,
    ],
    ['refuses with a reason of its own', answer(422, 'no such order'), 'the shop refused it, and says "no such order"'],
    [
      'refuses without a message',
      answer(422),
      'the shop refused it without a message, as it does all postbacks, in either format',
    ],
    ['refuses a field', answer(400, 'property SignatureValue should not exist'), 'refused it, and says "property Sig'],
    ['wants a login', answer(403, 'Please sign in'), 'refused it, and says "Please sign in"'],
    ['redirects', answer(302, '', { location: '/postback/' }), /not followed: if http.*\/postback\/ accepts postbacks/],
    ['redirects to a login', answer(302, '', { location: '/login?next=x' }), 'leads to a login'],
    ['redirects nowhere', answer(302), 'the shop must answer 200 itself'],
    [
      'answers 200 with a page',
      answer(200, '<!doctype html><p>Welcome', { 'content-type': 'text/html' }),
      /the answer is a page, .*: check whether the shop has recorded the payment; every postback gets this answer: compare http.* with the shop’s route$/,
    ],
    ['answers 200 with an error', answer(200, '{"success":false}'), 'the answer is "{"success":false}"'],
    ['answers 200 with an error in words', answer(200, '{"error":"null amount"}'), 'not an acknowledgement such as OK'],
    ['finds SignatureValue invalid', answer(400, 'SignatureValue is invalid'), /^SignatureValue is the MD5 of/],
    [
      'lacks the field',
      answer(422, '{"errors":{"SignatureValue":["The SignatureValue field is required."]}}'),
      'the shop refused it, and says',
    ],
    [
      'refuses this one only',
      (_request, body, response) =>
        response.writeHead(body.includes('o-1') ? 400 : 200).end(body.includes('o-1') ? 'wrong amount' : 'OK'),
      /and says "wrong amount": check its log$/,
    ],
    [
      'lets few requests pass',
      (_request, body, response) => {
        const isRight = body.includes('o-1') || /SignatureValue["=:]+0{32}/.test(body);
        response.writeHead(isRight ? 400 : 429).end('no');
      },
      /^the shop refused it, and says "no": check its log$/,
    ],
    ['answers 200 with a wrong digest', answer(200, 'Invalid hash'), 'SignatureValue is the MD5 of'],
    ['closes the connection', ({ socket }) => socket.destroy(), 'closed the connection without an answer'],
  ])('the sandbox has advice for a shop that %s', async (_what, shop, advice) => {
    expect(await adviceOf(await paid(shop))).toMatch(advice instanceof RegExp ? advice : new RegExp(escaped(advice)));
  });

  test('the advice for a shop that does not answer in time is to answer first', async () => {
    const callback = await paid(() => undefined, '/postback', { postbackTimeout: '50ms' });
    expect(await adviceOf(callback)).toContain('did not answer in time: answer first');
  });

  test.each([
    'OK',
    'YES',
    '{"status":"ok"}',
    'ERROR=0;TEXT=none',
    '{"error":null}',
    '{"failed":0}',
    'no error',
    '0 errors',
    '',
  ])('the sandbox has no advice for a shop that acknowledges with %j', async (body) => {
    // As Nest, Express, PHP, Flask and Django send a text.
    const { tries } = await paid(answer(200, body, { 'content-type': 'text/html; charset=utf-8' }));
    expect([tries[0]!.advice, tries[0]!.remedy]).toEqual([undefined, undefined]);
    expect(lines).toEqual([expect.objectContaining({ problem: false, text: 'postback main o-1 SUCCESS: 200' })]);
    expect(bodies).toHaveLength(1);
  });

  /** Handlers that people publish, by what they read and how they fail; each takes the postback in one way only. */
  interface Published {
    reads: 'form' | 'json';
    /** Of the digest that it computes; `undefined` if it checks none. */
    digest?: 'upper' | 'lower';
    /** What it answers to a body that it cannot read, to a wrong digest, and to an order that it does not have. */
    unread: [status: number, body: string];
    forged?: [status: number, body: string];
    unknown: [status: number, body: string];
  }
  const published =
    ({ reads, digest, unread, forged = unread, unknown }: Published): Shop =>
    ({ headers }, body, response) => {
      const say = ([status, text]: [number, string]) =>
        void response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' }).end(text);
      const isJson = headers['content-type'] === 'application/json';
      if (isJson !== (reads === 'json')) return say(unread);
      const fields = (isJson ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body))) as Record<
        string,
        string
      >;
      const { OutSum, InvId, SignatureValue } = fields;
      const expected = createHash('md5').update(`${OutSum}:${InvId}:${TOKEN}`).digest('hex');
      const isRight = SignatureValue === (digest === 'upper' ? expected.toUpperCase() : expected);
      if (digest && !isRight) return say(forged);
      return say(InvId === 'o-1' ? [200, 'OK'] : unknown);
    };

  test.each<[string, Published, RegExp, 'form' | undefined]>([
    [
      'PHP, $_POST, 400 bad sign',
      { reads: 'form', digest: 'upper', unread: [400, 'bad sign'], unknown: [404, 'no order'] },
      /does not read JSON/,
      'form',
    ],
    [
      'PHP, $_POST, 403 bad sign',
      { reads: 'form', digest: 'upper', unread: [403, 'bad sign'], unknown: [200, 'OK'] },
      /does not read JSON/,
      'form',
    ],
    [
      'PHP, $_POST, 200 with "bad sign"',
      { reads: 'form', digest: 'upper', unread: [200, 'bad sign'], unknown: [200, 'no order'] },
      /not an acknowledgement.*does not read JSON/,
      'form',
    ],
    [
      'PHP, $_POST, md5() in lower case',
      { reads: 'form', digest: 'lower', unread: [400, 'bad sign'], unknown: [404, ''] },
      /does not read JSON.*only in lower case/,
      'form',
    ],
    [
      'Express with urlencoded only, 500',
      { reads: 'form', digest: 'upper', unread: [500, 'TypeError'], forged: [400, 'bad sign'], unknown: [404, ''] },
      /does not read JSON/,
      'form',
    ],
    [
      'Express with urlencoded only, 500, no digest',
      { reads: 'form', unread: [500, 'TypeError'], unknown: [404, ''] },
      /does not read JSON/,
      'form',
    ],
    [
      'Flask, request.form[…], 400',
      { reads: 'form', unread: [400, '<!doctype html><title>400 Bad Request</title>'], unknown: [200, 'OK'] },
      /does not read JSON/,
      'form',
    ],
    [
      'Nest, JSON, digest in lower case',
      {
        reads: 'json',
        digest: 'lower',
        unread: [400, '{"message":"fields missing"}'],
        forged: [403, '{"message":"Invalid signature"}'],
        unknown: [404, ''],
      },
      /only in lower case/,
      undefined,
    ],
  ])('the advice about a published handler follows from its answers: %s', async (_what, handler, advice, remedy) => {
    const callback = await paid(published(handler));
    expect(await adviceOf(callback)).toMatch(advice);
    expect(callback.tries[0]!.remedy).toBe(remedy);
    if (remedy === undefined || handler.digest === 'lower') return;
    await fetch(`${trial.running.url}/sandbox/console/callbacks/${callback.id}/replay`, {
      method: 'POST',
      body: new URLSearchParams({ format: remedy }),
    });
    await trial.running.sandbox.settled();
    const [, again] = trial.running.sandbox.bill(callback.billId).callbacks;
    expect(again!.tries[0]).toMatchObject({ status: 200, body: 'OK' });
  });

  test.each<[string, Shop]>([
    ['answers everything with 500', answer(500)],
    ['answers everything with 400', answer(400, 'no')],
    ['has another token', published({ reads: 'json', digest: 'upper', unread: [400, 'bad sign'], unknown: [404, ''] })],
  ])('the sandbox has no advice about the format without evidence: a shop that %s', async (what, shop) => {
    trial = await Trial.open(shop);
    ({ lines, bodies } = trial);
    if (what.includes('token')) await trial.running.sandbox.putShop('main', { postbackSignature: 'none' });
    const { tries } = await trial.pay();
    expect(tries[0]!.remedy).toBeUndefined();
    expect(tries[0]!.advice).not.toMatch(/postbackFormat/);
  });

  test('the advice about a refused forgery is that the shop is right', async () => {
    const callback = await paid(answer(400));
    bodies.length = 0;
    await trial.running.sandbox.replay(callback.id, { set: { OutSum: '1.00' } });
    await trial.running.sandbox.settled();
    expect(bodies).toHaveLength(1); // there is nothing to find out
    const [, forged] = trial.running.sandbox.bill(callback.billId).callbacks;
    expect(forged!.tries[0]!.advice).toContain('the shop is right to refuse the postback');
  });

  test('the advice about a refused postback without a signature says that it carried none', async () => {
    trial = await Trial.open(({ headers: _headers }, body, response) => {
      const { InvId, OutSum, SignatureValue } = JSON.parse(body.startsWith('{') ? body : '{}') as Record<
        string,
        string
      >;
      const isRight = SignatureValue === signatureOf(OutSum ?? '', InvId ?? '', TOKEN);
      response.writeHead(isRight ? 404 : 403).end();
    });
    await trial.running.sandbox.putShop('main', { postbackSignature: 'none' });
    const { tries } = await trial.pay();
    expect(tries[0]!.advice).toBe('it carried no SignatureValue, due to the setting postbackSignature');
  });

  test('with diagnose off the sandbox sends the shop nothing but the postback', async () => {
    const callback = await paid(answer(404), '/postback', { diagnose: false });
    expect(bodies).toHaveLength(1);
    expect(await adviceOf(callback)).toContain('look for a global prefix');
  });

  test('test postbacks do not keep the sandbox from retrying the postback', async () => {
    trial = await Trial.open(answer(500), '/postback', { postbackRetryDelays: ['300ms'] });
    const { billId } = await trial.pay();
    const shown = async (): Promise<string> => (await fetch(`${trial.running.url}/sandbox/bills/${billId}`)).text();
    expect(await until(shown, (text) => text.includes('givenUp'))).toContain('"status":500');
  });

  test('test postbacks cannot be taken for genuine ones', async () => {
    await paid(onlyForms);
    const [genuine, ...probes] = bodies.map((body) =>
      body.startsWith('{')
        ? (JSON.parse(body) as Record<string, string>)
        : Object.fromEntries(new URLSearchParams(body)),
    );
    expect(genuine!['InvId']).toBe('o-1');
    expect(probes).toHaveLength(6);
    for (const { Status, InvId, TrsId } of probes) {
      expect([Status, InvId, TrsId]).toEqual(['FAIL', expect.stringMatching(/^sandbox-check-/), expect.any(String)]);
    }
    // With a right digest, one in lower case, and a wrong one, in both formats.
    const right = ({ OutSum, InvId, SignatureValue }: Record<string, string>): boolean =>
      SignatureValue === signatureOf(OutSum!, InvId!, TOKEN);
    expect(probes.filter(right)).toHaveLength(2);
  });
});

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
