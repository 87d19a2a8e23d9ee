import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Callback, type LogLine, type RunningSandbox, startPaymentSandbox } from 'nestjs-payment-sandbox';
import { ForeignHandler, type Language, missing } from './support/foreign-handler.js';

const TOKEN = '72|token-of-the-shop';

/** What whoever follows the advice does. */
type Followed = 'sent again as a form' | 'handler corrected' | 'address corrected';

interface Published {
  file: string;
  /** Where the shop believes it is, and where it is. Default `/postback`. */
  path?: string;
  truePath?: string;
  /** What the check of the shop says, where a payment shows nothing. */
  checked?: RegExp;
  /** Default `100.05`. */
  amount?: string;
  /** Absent for a right one: there is nothing to say, and the order is paid at once. */
  says?: RegExp;
  followed?: Followed[];
}

const FORM = /the shop does not read JSON, but understood a test postback sent as a form, .*\(postbackFormat\) to form/;
const form = (file: string, says = FORM): Published => ({ file, says, followed: ['sent again as a form'] });
const corrected = (file: string, says: RegExp): Published => ({ file, says, followed: ['handler corrected'] });

/** Handlers of postbacks as people publish them. */
const PUBLISHED: Published[] = [
  form('php/form-400.php'),
  form('php/form-200.php', /the answer is "bad sign", not an acknowledgement such as OK.*the shop does not read JSON/),
  {
    file: 'php/form-lowercase-403.php',
    says: /the shop does not read JSON.*only in lower case, so make the comparison case-insensitive/,
    followed: ['handler corrected', 'sent again as a form'],
  },
  { file: 'php/json.php' },
  { file: 'php/either.php' },
  form(
    'php/request-no-digest.php',
    /the answer is "error: no InvId", not an acknowledgement.*the shop does not read JSON/,
  ),
  {
    ...corrected('php/json-float.php', /^SignatureValue is the MD5 of .*, computed over the values exactly as sent$/),
    amount: '100.50',
  },
  form('php/form-json-answer.php', /not an acknowledgement such as OK.*the shop does not read JSON/),
  form('python/http_server_form.py'),
  corrected('python/http_server_202.py', /^only 200 counts as delivered, so it will be retried/),
  { file: 'python/wsgi_json.py', amount: '100.50' },
  form('python/flask_form.py'),
  form('python/flask_form_get.py'),
  { file: 'python/flask_json.py' },
  corrected('python/django_csrf.py', /^the shop requires a CSRF token: exempt this route from that check$/),
  form('python/django_form.py'),
  form('node/express-urlencoded.mjs'),
  { file: 'node/express-json.mjs' },
  corrected('node/express-no-parser.mjs', /^the shop failed while handling the postback: see its log$/),
  corrected(
    'node/express-json-lower.mjs',
    /^SignatureValue is .*only in lower case, so make the comparison case-insensitive$/,
  ),
  {
    ...corrected(
      'node/express-amount-float.mjs',
      /^the shop reads JSON and tells a correct signature .*: it refused the contents of this postback, with "wrong amount"$/,
    ),
    amount: '64.10',
  },
  corrected('node/nest-201.ts', /^only 200 counts as delivered.*@HttpCode\(200\)/),
  {
    file: 'node/nest-prefix.ts',
    says: /but .*\/api\/postback answers \(400\): the address lacks a global prefix$/,
    truePath: '/api/postback',
    followed: ['address corrected'],
  },
  corrected('node/nest-dto.ts', /^the shop refused it, and says ".*property Commission should not exist/),
  corrected('node/nest-guard.ts', /^a guard in front of the route, such as a login, must let the service through$/),
  form('go/form.go'),
];

/** By an author who had not seen the rules of the advice. */
const BY_ANOTHER_AUTHOR: Published[] = [
  {
    ...corrected(
      'php/checkout.php',
      /^SignatureValue is the MD5 of "1234\.50:o-1:" .*, computed over the values exactly as sent$/,
    ),
    amount: '1234.50',
  },
  corrected('php/secret.php', /^SignatureValue is the MD5 of .* and the API token/),
  {
    file: 'php/callback.php',
    checked:
      /^the shop does not read JSON, but understood a test postback sent as a form, .*\(postbackFormat\) to form$/,
    followed: ['sent again as a form'],
  },
  { file: 'php/legacy.php', amount: '100.50' },
  corrected(
    'python/shop_django.py',
    /^the shop refused it with a page, as it does all postbacks, in either format and with any/,
  ),
  {
    file: 'python/notify_server.py',
    says: /closed the connection without an answer: check its log; the same sent as a form gets 403 sign$/,
    followed: ['handler corrected', 'sent again as a form'],
  },
  corrected('python/wsgi_app.py', /^the shop failed while handling the postback: see its log$/),
  corrected('python/flask_guard.py', /^a guard in front of the route, such as a login, must let the service through$/),
  { file: 'python/flask_raw.py', amount: '100.10' },
  corrected('node/whitelist.ts', /^SignatureValue is the MD5 of .*, computed over the values exactly as sent$/),
  {
    file: 'node/spa.mjs',
    path: '/payment/postback',
    truePath: '/postback',
    says: /the answer is a page, .*: check whether .*; every postback gets this answer: compare .*\/payment\/postback with the shop’s route$/,
    followed: ['address corrected'],
  },
  {
    ...corrected(
      'node/kopecks.mjs',
      /^the shop refused it, and says "verification failed", as it does all postbacks, .*: check its log/,
    ),
    amount: '19.99',
  },
];
const ALL = [...PUBLISHED, ...BY_ANOTHER_AUTHOR];

describe.each<Language>(['php', 'python', 'node', 'go'])(
  'advice of the sandbox about published handlers in %s',
  (language) => {
    const why = missing(language);
    // Go is large, and is not asked for. What else is missing fails by name, unless whoever runs this could not install it.
    const isExcused = ['go', ...(process.env['TEST_WITHOUT'] ?? '').split(' ')].includes(language);
    const [run, note] = why !== undefined && isExcused ? [test.skip, ` (skipped: ${why})`] : [test, ''];
    let running: RunningSandbox;
    let handler: ForeignHandler;
    let lines: LogLine[];
    beforeEach(() => {
      lines = [];
      if (why !== undefined) throw new Error(`${why}: apt-get install php-cli python3-flask python3-django`);
    });
    afterEach(async () => {
      await running.close();
      await handler.close();
    });

    run.each(ALL.filter(({ file }) => file.startsWith(`${language}/`)))(
      `$file${note}`,
      async ({ file, amount = '100.05', path = '/postback', truePath = path, says, checked, followed = [] }) => {
        handler = new ForeignHandler(file, { AMOUNT: amount, TOKEN });
        await handler.start();
        const shops = { main: { apiToken: TOKEN, resultUrl: `${handler.origin}${path}` } };
        const log = (line: LogLine): number => lines.push(line);
        running = await startPaymentSandbox({ shops, log, diagnose: true, logger: false });
        const callback = await paid(amount);
        const [tried] = callback.tries;
        if (says) expect(tried!.advice).toMatch(says);
        else expect([tried!.advice, tried!.remedy]).toEqual([undefined, undefined]);
        expect(handler.noted()).toBe(followed.length === 0 ? 'SUCCESS' : '');
        if (checked) {
          const { addresses } = await running.sandbox.checkShop('main');
          expect(addresses[0]).toMatchObject({ verdict: 'bad', says: expect.stringMatching(checked) });
        }
        if (followed.length === 0) return;
        // The button is there, unless the handler has to be corrected first.
        const isOffered = says !== undefined && followed.at(0) === 'sent again as a form';
        if (isOffered) expect(tried!.remedy).toBe('form');
        expect(await follow(followed, callback, truePath)).toMatchObject({ status: 200 });
        expect(handler.noted()).toBe('SUCCESS');
      },
      120_000,
    );

    async function paid(amount: string): Promise<Callback> {
      const address = `${running.url}/api/v1/bill/create?amount=${amount}&order_id=o-1`;
      const response = await fetch(address, { method: 'POST', headers: { authorization: `Bearer ${TOKEN}` } });
      const { bill_id } = (await response.json()) as { bill_id: string };
      await running.sandbox.pay(bill_id);
      await running.sandbox.settled();
      return running.sandbox.bill(bill_id).callbacks[0]!;
    }

    /** Resolves with the answer to the postback, sent again. */
    async function follow(
      followed: Followed[],
      { id, billId }: Callback,
      path: string,
    ): Promise<Callback['tries'][number]> {
      if (followed.includes('handler corrected')) {
        await handler.stop();
        await handler.start(true);
      }
      if (followed.includes('address corrected')) {
        await running.sandbox.putShop('main', { resultUrl: `${handler.origin}${path}` });
      }
      // The buttons of the console.
      const format = followed.includes('sent again as a form') ? 'form' : undefined;
      await fetch(`${running.url}/sandbox/console/callbacks/${id}/replay`, {
        method: 'POST',
        body: new URLSearchParams(format && { format }),
      });
      await running.sandbox.settled();
      return running.sandbox.bill(billId).callbacks.at(-1)!.tries[0]!;
    }
  },
);

describe('the table of published handlers', () => {
  test('the table of published handlers lists every handler file', () => {
    const folder = resolve(import.meta.dirname, 'handlers');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => /\.\w+$/.test(file));
    expect(ALL.map(({ file }) => file).sort()).toEqual(files.sort());
    expect([PUBLISHED.length, BY_ANOTHER_AUTHOR.length]).toEqual([26, 12]);
  });
});
