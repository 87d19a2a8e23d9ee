import fastifyCookie from '@fastify/cookie';
import fastifySession from '@fastify/session';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ExpressAdapter } from '@nestjs/platform-express';
import compression from 'compression';
import express from 'express';
import session from 'express-session';
import helmet from 'helmet';
import { postForm, redirectFields } from '../support/http.js';
import { startHarness, type Harness, type HarnessOptions } from '../support/harness.js';

const SECRET = 'a secret of the session of thirty-two characters';

const SESSIONS: readonly (readonly [string, HarnessOptions])[] = [
  [
    'express-session',
    {
      prepare: (app) =>
        // As its documentation begins: saveUninitialized is true by default.
        app.use(
          session({ secret: SECRET, resave: true, saveUninitialized: true, name: 'sid' }),
          helmet(),
          compression(),
        ),
    },
  ],
  [
    'express-session, on an application that the host has made',
    {
      adapter: () => {
        const application = express();
        application.use(session({ secret: SECRET, resave: true, saveUninitialized: true, name: 'sid' }));
        return new ExpressAdapter(application);
      },
    },
  ],
  [
    '@fastify/session',
    {
      adapter: 'fastify',
      prepare: (app) => {
        const fastify = app as NestFastifyApplication;
        void fastify.register(fastifyCookie);
        void fastify.register(fastifySession, { secret: SECRET, cookieName: 'sid', cookie: { secure: false } });
      },
    },
  ],
];

describe.each(SESSIONS)('sessions with %s', (_name, options) => {
  let harness: Harness | undefined;
  afterEach(() => harness?.close());

  async function paid(): Promise<string> {
    harness = await startHarness(options);
    await harness.host.payments.createBill({ orderId: 'A-1', amount: '1' });
    return harness.host.url;
  }
  const fields = redirectFields({ InvId: 'A-1', OutSum: '1.00' });

  test('a payer who comes back from the service is not given another session', async () => {
    const url = await paid();
    const elsewhere = await fetch(`${url}/none`);
    expect(elsewhere.headers.getSetCookie()).toEqual([expect.stringMatching(/^sid=/)]);
    const answer = await postForm(`${url}/redirect/payment/success`, fields);
    expect(answer.status).toBe(303);
    expect(answer.headers.getSetCookie()).toEqual([]);
    const page = await fetch(new URL(answer.headers.get('location')!, answer.url));
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('A-1');
    expect(page.headers.getSetCookie()).toEqual([]);
  });

  test('a session that the request has brought may be renewed', async () => {
    const url = await paid();
    const answer = await fetch(`${url}/redirect/payment/success`, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: { cookie: 'other=1; sid=unknown' },
      redirect: 'manual',
    });
    expect(answer.headers.getSetCookie()).toEqual([expect.stringMatching(/^sid=/)]);
  });
});

describe('cookies written with the head of an answer', () => {
  let harness: Harness | undefined;
  afterEach(() => harness?.close());

  test("cookies of the host are left out of the module's answers, however they are spelt", async () => {
    harness = await startHarness({
      prepare: (app) =>
        app.use(
          (_request: unknown, response: { writeHead(status: number, headers?: object): unknown }, next: () => void) => {
            const writeHead = response.writeHead.bind(response);
            response.writeHead = (status) => writeHead(status, { 'Set-Cookie': ['sid=1'], 'X-More': '1' });
            next();
          },
        ),
    });
    const answer = await postForm(`${harness.host.url}/postback/payment`, { TrsId: 'b-1' });
    expect([answer.status, answer.headers.getSetCookie(), answer.headers.get('x-more')]).toEqual([200, [], '1']);
  });
});

describe('protection against CSRF', () => {
  let harness: Harness | undefined;
  afterEach(() => harness?.close());

  test('callbacks can be exempted from CSRF protection by their paths', async () => {
    const protect = (
      request: { headers: object },
      response: { writeHead(status: number): { end(): void } },
      next: () => void,
    ) => ('x-csrf-token' in request.headers ? next() : response.writeHead(403).end());
    const callbacks = /^\/(redirect|postback)\/payment\b/;
    harness = await startHarness({
      prepare: (app) =>
        app.use((request: { path: string; headers: object }, response: never, next: () => void) =>
          callbacks.test(request.path) ? next() : protect(request, response, next),
        ),
    });
    expect((await postForm(`${harness.host.url}/postback/payment/main`, { TrsId: 'b-1' })).status).toBe(200);
    expect((await postForm(`${harness.host.url}/elsewhere`, {})).status).toBe(403);
  });
});
