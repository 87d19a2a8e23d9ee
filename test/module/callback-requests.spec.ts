import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { BadRequestException, Logger, NotFoundException, type INestApplication } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { PaymentAcceptanceModule } from 'nestjs-payment-acceptance';
import { PaymentHealthIndicator, PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { CallbackBodies } from '../../libs/payment-acceptance/src/callbacks/callback-bodies.js';
import { postbackFields, postForm, postJson, redirectFields } from '../support/http.js';
import { startHarness, type Harness, type HarnessOptions } from '../support/harness.js';
import { until } from '../support/until.js';

/** A platform that handles requests before the application gets them. */
const behind = (handler: RequestHandler) => () => {
  const application = express() as unknown as { handle: RequestHandler };
  const handle = application.handle.bind(application);
  application.handle = (request, response, done) =>
    handler(request, response, () => void handle(request, response, done));
  return new ExpressAdapter(application);
};

/** An application of the host's, with parsers that come before all that Nest registers. */
const expressWith =
  (...handlers: RequestHandler[]) =>
  () => {
    const application = express();
    application.use(...handlers);
    return new ExpressAdapter(application);
  };

function fastifyParsingTo(parseAs: 'buffer' | 'string') {
  return () => {
    const adapter = new FastifyAdapter();
    // Nest adds those of JSON and of forms itself.
    adapter.getInstance().addContentTypeParser('*', { parseAs }, (_request, body, done) => done(null, body));
    return adapter;
  };
}

describe('requests to callbacks', () => {
  let harness: Harness | undefined;
  let log: string[];
  beforeEach(() => {
    log = [];
    for (const level of ['warn', 'error', 'log'] as const)
      jest
        .spyOn(Logger.prototype, level)
        .mockImplementation((...said: unknown[]) => void log.push(JSON.stringify(said)));
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await harness?.close();
    harness = undefined;
  });

  /** Statuses of a postback as JSON and as a form, and of a redirect, to an application with these settings. */
  async function answersOf(options: HarnessOptions, prefix = ''): Promise<number[]> {
    harness = await startHarness(options);
    const { billId } = await harness.host.payments.createBill({ orderId: 'A-1', amount: '1' });
    const fields = postbackFields({ InvId: 'A-1', OutSum: '1.00', TrsId: billId });
    const at = (path: string) => `${harness!.host.url}${prefix}/${path}`;
    const answers = [
      await postJson(at('postback/payment'), fields),
      await postForm(at('postback/payment'), fields),
      await postForm(at('redirect/payment/success'), redirectFields({ InvId: 'A-1', OutSum: '1.00' })),
    ];
    return answers.map(({ status }) => status);
  }

  describe('reading the body of a callback', () => {
    test.each<[string, HarnessOptions]>([
      ['from the bytes of express.raw', { adapter: expressWith(express.raw({ type: '*/*' })) }],
      ['from the text of express.text', { adapter: expressWith(express.text({ type: '*/*' })) }],
      ['beside express.raw for other webhooks', { prepare: (app) => app.use(express.raw({ type: '*/*' })) }],
      ['beside express.text for other webhooks', { prepare: (app) => app.use(express.text({ type: '*/*' })) }],
      [
        'from what express.json and express.urlencoded have parsed',
        { adapter: expressWith(express.json(), express.urlencoded()) },
      ],
      ['where a parser has set an empty body and read nothing', { adapter: expressWith(settingEmptyBody) }],
      ['from rawBody, which a platform has left', { adapter: behind(keepingBytesAlone) }],
      ['beside a middleware that reads the stream', { prepare: (app) => app.use(readingBytes) }],
      ['before parsers that refuse them', { adapter: expressWith(refusing) }],
      ['after something that has set an encoding', { adapter: behind(inText) }],
      ['beside a parser of Fastify to bytes', { adapter: fastifyParsingTo('buffer') }],
      ['beside a parser of Fastify to text', { adapter: fastifyParsingTo('string') }],
    ])('a callback is read %s', async (_where, options) => {
      expect(await answersOf(options)).toEqual([200, 200, 303]);
    });

    test.each(['express', 'fastify'] as const)(
      "a callback is read before the host's guards, on %s",
      async (adapter) => {
        const seen: unknown[] = [];
        const guard = {
          canActivate: (context: { switchToHttp(): { getRequest(): { body: unknown; rawBody: unknown } } }) => {
            const { body, rawBody } = context.switchToHttp().getRequest();
            seen.push([(body as { InvId: string }).InvId, Buffer.isBuffer(rawBody)]);
            return true;
          },
        };
        await answersOf({ adapter, prepare: (app) => app.useGlobalGuards(guard) });
        expect(seen).toEqual([
          ['A-1', true],
          ['A-1', true],
          ['A-1', true],
        ]);
      },
    );

    test.each(['express', 'fastify'] as const)(
      'a callback is read where RouterModule has moved its route, on %s, and the start logs the address',
      async (adapter) => {
        const imports = [RouterModule.register([{ path: 'shop', module: PaymentAcceptanceModule }])];
        const prepare = (app: INestApplication) => void app.setGlobalPrefix('api');
        expect(await answersOf({ adapter, imports, prepare }, '/api/shop')).toEqual([200, 200, 303]);
        expect(log.join()).toContain('POST /api/shop/postback/payment[/SHOP]');
        const text = await fetch(`${harness!.host.url}/api/shop/postback/payment`, {
          method: 'POST',
          body: 'TrsId=b-1',
        });
        expect(text.status).toBe(200);
        await postJson(`${harness!.host.url}/postback/payment`, {});
        expect(log.join()).toContain(
          'A callback to /postback/payment got 404: the application serves callbacks at /api/shop/postback/payment.',
        );
      },
    );

    test.each(['express', 'fastify'] as const)(
      'a callback is read although CORS does not allow its origin, on %s',
      async (adapter) => {
        type Allow = (origin: string | undefined, done: (error: Error | null, allowed?: boolean) => void) => void;
        const origin: Allow = (from, done) => (from === undefined ? done(null, true) : done(new Error('Not allowed.')));
        await answersOf({ adapter, prepare: (app) => app.enableCors({ origin }) });
        const post = (path: string, fields: Record<string, string>) =>
          fetch(`${harness!.host.url}/${path}`, {
            method: 'POST',
            body: new URLSearchParams(fields),
            headers: { origin: 'https://pay.example' },
            redirect: 'manual',
          });
        const fields = redirectFields({ InvId: 'A-1', OutSum: '1.00' });
        expect((await post('redirect/payment/success', fields)).status).toBe(303);
        expect((await post('elsewhere', fields)).status).toBe(500);
      },
    );

    test('a callback is read below a prefix with a parameter, and in another letter case', async () => {
      const prepare = (app: INestApplication) => void app.setGlobalPrefix('api/:tenant');
      expect(await answersOf({ prepare }, '/api/one')).toEqual([200, 200, 303]);
      const text = { method: 'POST', body: 'TrsId=b-1' };
      expect((await fetch(`${harness!.host.url}/api/two/postback/payment/main`, text)).status).toBe(200);
      expect((await fetch(`${harness!.host.url}/API/two/Postback/payment`, text)).status).toBe(200);
    });

    test("a callback is answered 500 if the host's middleware has a body that throws", async () => {
      expect(await answersOf({ adapter: behind(throwingBodies) })).toEqual([500, 500, 500]);
    });

    test('a callback with a trailing slash is answered 404 on Fastify, with a log line', async () => {
      harness = await startHarness({ adapter: 'fastify' });
      expect((await postForm(`${harness.host.url}/postback/payment/`, { TrsId: 'b-1' })).status).toBe(404);
      expect(log.join()).toContain('A callback to an address with a trailing slash got 404');
    });

    test('a sender that hangs up in the middle of a callback is no fault of the application', async () => {
      harness = await startHarness({ adapter: 'express' });
      const { port } = new URL(harness.host.url);
      const socket = connect(Number(port), '127.0.0.1');
      const head = 'POST /postback/payment HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded';
      socket.write(`${head}\r\nContent-Length: 100\r\n\r\nTrsId=`);
      const taken = jest.spyOn(CallbackBodies.prototype, 'take');
      socket.end();
      await until(
        () => new Promise<number>((resolve) => setImmediate(() => resolve(taken.mock.results.length))),
        (count) => count === 1,
      );
      expect((await postForm(`${harness.host.url}/postback/payment`, { TrsId: 'b-1' })).status).toBe(200);
      expect(log.join()).not.toContain('body-parser-off');
    });

    test('a callback whose body something has read and not kept is answered 503, with a log line', async () => {
      expect(await answersOf({ adapter: behind(losingBodies) })).toEqual([503, 503, 503]);
      expect(log.filter((line) => line.includes('body-parser-off'))).toEqual([
        expect.stringContaining("left it in neither the request's body nor its rawBody"),
      ]);
    });
  });

  describe.each(['express', 'fastify'] as const)('callbacks that the application answers itself, on %s', (adapter) => {
    const guard = { canActivate: () => false };
    const unseen = async () => (await harness!.host.app.get(PaymentOperations).stats()).dropped.unseenCallbacks;

    test('callbacks that a guard refuses are logged, counted and degrade health until one is taken', async () => {
      const closed = { is: true };
      const prepare = (app: INestApplication) => app.useGlobalGuards({ canActivate: () => !closed.is });
      expect(await answersOf({ adapter, prepare })).toEqual([403, 403, 403]);
      expect(log.filter((line) => line.includes('callback-refused'))).toEqual([
        expect.stringMatching(/The application itself answered a callback to \/postback\/payment with 403/),
        expect.stringMatching(/callback to \/redirect\/payment\/success with 403/),
      ]);
      expect(await unseen()).toBe(3);
      const degraded = async () => (await harness!.host.app.get(PaymentHealthIndicator).isHealthy('p')).p.degraded;
      expect(await degraded()).toContain('callbacks-refused');
      closed.is = false;
      expect((await postForm(`${harness!.host.url}/postback/payment`, { TrsId: 'b-1' })).status).toBe(200);
      expect(await degraded()).not.toContain('callbacks-refused');
    });

    const refusingWith = (error: Error) => (app: INestApplication) =>
      app.useGlobalGuards({ canActivate: () => Promise.reject(error) });
    test.each<[number, (app: INestApplication) => unknown]>([
      [400, refusingWith(new BadRequestException('x-tenant-id is missing'))],
      [404, refusingWith(new NotFoundException())],
      [200, (app) => app.use((_request: unknown, response: ServerResponse) => response.end('index'))],
    ])('callbacks that the application answers with %d are logged and counted', async (status, prepare) => {
      expect(await answersOf({ adapter, prepare })).toEqual([status, status, status]);
      const lines = log.filter((line) => line.includes('callback-refused') && line.includes(` with ${status} `));
      expect([lines.length, await unseen()]).toEqual([2, 3]);
    });

    test('a callback to an address in another letter case is taken, or logged as misaddressed', async () => {
      await answersOf({ adapter });
      const { status } = await postForm(`${harness!.host.url}/Postback/Payment`, { TrsId: 'b-1' });
      const misaddressed = log.filter((line) => line.includes('callback-misaddressed'));
      expect([status, misaddressed.length]).toEqual(adapter === 'express' ? [200, 0] : [404, 1]);
      expect(await unseen()).toBe(0);
    });

    test('refused requests to other addresses are not counted as callbacks', async () => {
      await answersOf({ adapter, prepare: (app) => app.useGlobalGuards(guard) });
      await postForm(`${harness!.host.url}/elsewhere`, {});
      await fetch(`${harness!.host.url}/postback/payment`);
      await postForm(`${harness!.host.url}/redirect/payment/result/x`, {});
      await postForm(`${harness!.host.url}/postback/payment/a/b`, {});
      await postForm(`${harness!.host.url}/postback/payment/%E0%A4`, {});
      expect(await unseen()).toBe(3);
    });
  });
});

/** As the parsers of Express 4 do with a content type that is not theirs. */
function settingEmptyBody(request: Request, _response: Response, next: NextFunction): void {
  request.body = {};
  next();
}

/** Like the functions of a cloud, which hand over a request with its bytes and a stream that has ended. */
function keepingBytesAlone(request: Request & { rawBody?: Buffer }, _response: Response, next: NextFunction): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    request.rawBody = Buffer.concat(chunks);
    next();
  });
}

function losingBodies(request: Request, _response: Response, next: NextFunction): void {
  request.resume();
  request.on('end', next);
}

/** Like middlewares that keep the bytes for the signatures of other webhooks. */
function readingBytes(request: Request & { rawText?: string }, _response: Response, next: NextFunction): void {
  let text = '';
  request.on('data', (chunk: Buffer) => (text += String(chunk)));
  request.on('end', () => {
    request.rawText = text;
    next(text.includes('InvId') ? undefined : new Error('There was no body.'));
  });
}

function inText(request: Request, _response: Response, next: NextFunction): void {
  request.setEncoding('utf8');
  next();
}

function throwingBodies(request: Request, _response: Response, next: NextFunction): void {
  Object.defineProperty(request, 'body', {
    get() {
      throw new Error('The body is not JSON.');
    },
  });
  next();
}

/** Like a parser of JSON alone that takes nothing else. */
function refusing({ headers }: Request, response: Response, next: NextFunction): void {
  if (headers['content-type'] === undefined) next();
  else response.writeHead(415).end();
}
