import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { PaymentConsoleModule } from 'nestjs-payment-console';
import { ONE_ADAPTER } from '../support/adapters.js';
import { startHarness, type Harness } from '../support/harness.js';
import { Desk } from './support/desk.js';
import { formOf, type Answer } from './support/operator.js';
import { Bookkeeper, record } from './support/records.js';

describe.each(ONE_ADAPTER)('forms, on %s', (adapter) => {
  const desk = new Desk(adapter);

  describe('a form that this console did not make for this browser', () => {
    let asked: Answer;
    const refused = async (answer: Answer, said: string): Promise<void> => {
      expect([answer.status, answer.text]).toEqual([403, expect.stringContaining(said)]);
      expect([await desk.stateOf(desk.main.lost), await desk.actions()]).toEqual(['UNKNOWN', []]);
    };
    beforeEach(async () => {
      asked = await desk.operator.open(`actions/void-bill/${desk.main.lost}`);
    });

    test('a form without its CSRF token changes nothing', async () => {
      await refused(await desk.operator.submit(asked, { csrf: '' }), 'Nothing was changed');
    });

    test('a form without its cookie changes nothing', async () => {
      desk.operator.forget();
      await refused(await desk.operator.submit(asked), 'Nothing was changed');
    });

    test('a form with the CSRF token of another action or target changes nothing', async () => {
      const other = await desk.operator.open(`actions/attach-bill/${desk.main.lost}`);
      await refused(await desk.operator.submit(asked, { csrf: formOf(other).csrf! }), 'Nothing was changed');
      const { lost } = await record(desk.harness, 'eu');
      const another = await desk.operator.open(`actions/void-bill/${lost}`);
      await refused(await desk.operator.submit(asked, { csrf: formOf(another).csrf! }), 'Nothing was changed');
    });

    test('a form with the CSRF token of another person changes nothing, though the cookie is the same', async () => {
      const answer = await desk.operator.submit(asked, {}, { 'x-user': 'eve' });
      await refused(answer, 'this form was issued to someone else');
    });

    test('a form about some dead letters replays no others', async () => {
      const some = await desk.operator.open('actions/replay/all?shop=eu&consumer=mail');
      expect(some.status).toBe(409);
      const formOfAnother = await desk.operator.open('actions/replay/all?consumer=orders');
      const all = await desk.operator.open('actions/replay/all');
      await refused(await desk.operator.submit(all, { csrf: formOf(formOfAnother).csrf! }), 'Nothing was changed');
    });

    test.each(['cross-site', 'same-site'])('a form from a page elsewhere (%s) changes nothing', async (site) => {
      await refused(await desk.operator.submit(asked, {}, { 'sec-fetch-site': site }), 'came from another site');
    });

    test('a refused form is shown again with a CSRF token of its own, so that it can be confirmed', async () => {
      const again = await desk.operator.submit(asked, { csrf: '', note: 'kept' });
      expect(formOf(again)).toMatchObject({ note: 'kept' });
      // A screen reader begins with the title.
      expect(again.text).toMatch(/^Error: Void /);
      expect((await desk.operator.submit(again)).status).toBe(303);
      expect(await desk.stateOf(desk.main.lost)).toBe('VOIDED');
    });

    test('a form whose fields are not text is refused', async () => {
      const answer = await fetch(asked.url, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-user': 'ann' },
        body: 'csrf[toString]=x&note[]=a&note[]=b',
      });
      expect(answer.status).toBe(403);
    });
  });

  test('the console cookie is for this browser alone, and over https for this host alone', async () => {
    const address = `${desk.operator.home}/actions/void-bill/${desk.main.lost}`;
    const given = async (headers: Record<string, string>) =>
      (await fetch(address, { headers: { 'x-user': 'ann', ...headers } })).headers.getSetCookie();
    expect(await given({})).toEqual([
      expect.stringMatching(/^payment-console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/),
    ]);
    expect(await given({ 'x-forwarded-proto': 'https' })).toEqual([
      expect.stringMatching(/^__Host-payment-console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/),
    ]);
    const own = `payment-console=${'a'.repeat(43)}`;
    expect(await given({ cookie: own })).toEqual([]);
    expect(await given({ cookie: own, 'x-forwarded-proto': 'https' })).toHaveLength(1);
    expect(await given({ cookie: 'payment-console=short' })).toHaveLength(1);
  });
});

describe('forms that cannot be read', () => {
  let harness: Harness | undefined;
  afterAll(() => harness?.close());

  test('a form of another type gets 415, and one that the host has not parsed gets 503', async () => {
    harness = await startHarness({
      adapter: 'express',
      providers: [Bookkeeper],
      imports: [PaymentConsoleModule.register()],
      options: { http: { attempts: 1 } },
      // As if something in front had read it.
      prepare: (app) =>
        app.use((request: { headers: object; body?: unknown }, _response: unknown, next: () => void) => {
          if ('x-read' in request.headers)
            Object.defineProperty(request, 'body', { get: () => undefined, set: () => undefined });
          next();
        }),
    });
    const { lost } = await record(harness, 'main');
    const post = async (headers: Record<string, string>) => {
      const url = `${harness!.host.url}/payment-console/actions/void-bill/${lost}`;
      const answer = await fetch(url, { method: 'POST', headers, body: 'csrf=x' });
      return [answer.status, await answer.text()];
    };
    const form = 'application/x-www-form-urlencoded';
    expect(await post({ 'content-type': 'text/plain' })).toEqual([415, expect.stringContaining(form)]);
    expect(await post({ 'content-type': form, 'x-read': '1' })).toEqual([
      503,
      expect.stringContaining('Keep the body parser on'),
    ]);
  });
});
