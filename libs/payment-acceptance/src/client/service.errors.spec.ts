import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { HttpService } from '@nestjs/axios';
import axios from 'axios';
import { inspect } from 'node:util';
import { Recorder, type ScriptedAnswer } from '../../../../test/support/recorder.js';
import { resolved, TOKEN } from '../../../../test/support/units.js';
import { PaymentClock } from '../common/clock.js';
import { PaymentProbe } from '../common/probe.js';
import { PaymentRandom } from '../common/random.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { PaymentMetrics } from '../telemetry/payment-metrics.js';
import { Telemetry } from '../telemetry/telemetry.js';
import { PaymentServiceClient } from './payment-service.client.js';
import { PaymentServiceError } from './service.errors.js';

const PREVIOUS = 'previous-token-0123456789';
let recorder: Recorder;

describe('errors of the service', () => {
  beforeAll(async () => {
    recorder = await new Recorder().open();
  });
  afterAll(() => recorder.close());

  function clientAt(apiBaseUrl: string) {
    const options = resolved(
      { apiBaseUrl, previousApiTokens: [PREVIOUS] },
      { http: { attempts: 2, retryBaseMs: 1, retryCapMs: 1, totalTimeoutMs: 500 } },
    );
    const client = new PaymentServiceClient(
      new HttpService(axios.create()),
      options,
      new PaymentClock(),
      new PaymentRandom(),
      new PaymentProbe(),
      new ShopRegistry(options, new PaymentClock()),
      new PaymentMetrics(new Telemetry()),
    );
    return { client, shop: options.shops.get('main')! };
  }

  async function errorsAt(url: string): Promise<PaymentServiceError[]> {
    const { client, shop } = clientAt(url);
    const fields = {
      amount: '1.00',
      orderId: 'A-1',
      type: 'normal',
      currency: 'RUB',
      custom: 'c',
      payerPaysCommission: false,
    };
    const ends = await Promise.allSettled([client.listPayments(shop, 'b-1'), client.createBill(shop, fields)]);
    client.onApplicationShutdown();
    return ends.map((end) => {
      if (end.status === 'fulfilled' || !(end.reason instanceof PaymentServiceError))
        throw new Error('No service error came.');
      return end.reason;
    });
  }

  /** Everything that a log, debugger or serializer can see of an error, including its causes. */
  function everythingOf(error: Error): string {
    const texts: string[] = [];
    for (let each: unknown = error; each instanceof Error; each = each.cause) {
      texts.push(
        each.message,
        each.stack ?? '',
        String(each),
        JSON.stringify(each),
        inspect(each, { showHidden: true, depth: 10 }),
      );
      for (const key of Reflect.ownKeys(each))
        texts.push(inspect(Reflect.get(each, key), { showHidden: true, depth: 10 }));
    }
    return texts.join('\n');
  }

  const echo = `You sent Authorization: Bearer ${TOKEN}, before that ${PREVIOUS}.`;
  const at200 = `${'x'.repeat(190)} ${TOKEN}`;

  describe('tokens in errors', () => {
    test.each<[string, ScriptedAnswer]>([
      ['401', { status: 401, body: '{"message":"Unauthenticated"}' }],
      ['a message that repeats it', { status: 400, body: JSON.stringify({ message: echo }) }],
      ['a page that repeats it', { status: 500, body: `<html>${echo}</html>` }],
      ['a message cut in the middle of it', { status: 422, body: JSON.stringify({ error: at200 }) }],
      [
        'a JSON text that writes it with escapes',
        { status: 403, body: JSON.stringify({ message: echo }).replace('u', '\\u0075') },
      ],
      ['a success that is none', { status: 200, body: JSON.stringify({ success: false, message: echo }) }],
      ['an answer that is not understood', { status: 200, body: echo }],
      ['a redirect', { status: 302, headers: { location: `/?token=${TOKEN}` }, body: echo }],
    ])('no error carries the token: %s', async (_name, answer) => {
      recorder.answer(answer);
      for (const error of await errorsAt(recorder.url)) {
        const text = everythingOf(error);
        expect(text).not.toContain(TOKEN.slice(0, 9));
        expect(text).not.toContain(PREVIOUS.slice(0, 9));
        expect(error.cause).toBeUndefined();
      }
    });

    test('the error of a lost connection says that the request may have left, and carries no token', async () => {
      recorder.answer((request) => request.socket.resetAndDestroy());
      for (const error of await errorsAt(recorder.url)) {
        expect(error).toMatchObject({ code: 'network', reason: 'ECONNRESET', mayHaveLeft: true });
        expect(everythingOf(error)).not.toMatch(/unit-token|previous-token|axios/i);
      }
    });

    test('the error of a refused connection says that the request never left, and carries no token', async () => {
      for (const error of await errorsAt('http://127.0.0.1:1')) {
        expect(error).toMatchObject({ code: 'network', reason: 'ECONNREFUSED', mayHaveLeft: false });
        expect(everythingOf(error)).not.toMatch(/unit-token|previous-token|axios/i);
      }
    });
  });

  test('an error says what happened, where, and what to do', async () => {
    recorder.answer({ status: 403, body: '{"message":"api:error.merchant_banned"}' });
    const [listing, creation] = await errorsAt(recorder.url);
    expect(listing!.message).toBe(
      'listPayments of shop "main": the service has blocked the merchant (403 api:error.merchant_banned). ' +
        'Ask the service why. No bill can be created until it lifts the block.',
    );
    expect([listing!.name, creation!.operation]).toEqual(['PaymentMerchantBannedError', 'createBill']);
  });
});
