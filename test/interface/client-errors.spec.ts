import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import {
  PaymentAnswerNotUnderstoodError,
  PaymentBillNotFoundError,
  PaymentMerchantBannedError,
  PaymentMerchantNotFoundError,
  PaymentServiceError,
  PaymentRequestRefusedError,
  PaymentServiceUnavailableError,
  PaymentTooManyPaymentsError,
  PaymentUnauthenticatedError,
} from 'nestjs-payment-acceptance';
import { closing } from '../support/closing.js';
import { createdBill, startRecordedHarness, type RecordedHarness } from '../support/recorded-harness.js';
import { Recorder } from '../support/recorder.js';

let recorded: RecordedHarness;

describe('client errors', () => {
  const closeLater = closing();
  beforeAll(async () => {
    recorded = await startRecordedHarness();
  });
  afterAll(() => recorded.close());

  const list = () => recorded.harness.host.payments.listPayments('bill-1');
  async function errorOf(work: Promise<unknown>): Promise<PaymentServiceError> {
    const error: unknown = await work.catch((thrown: unknown) => thrown);
    if (!(error instanceof PaymentServiceError)) throw new Error('No service error came.');
    return error;
  }

  /** The specification does not show error bodies: these are the shapes seen in practice. */
  const SHAPES: [string, (message: string) => string][] = [
    ['message', (message) => JSON.stringify({ message, success: false })],
    ['error', (message) => JSON.stringify({ error: message })],
    ['error with a code beside it', (message) => JSON.stringify({ error: { code: 403, status: 'error', message } })],
    ['errors', (message) => JSON.stringify({ success: false, errors: [message] })],
    ['errors by field', (message) => JSON.stringify({ message: '', errors: { id: [message] } })],
    ['escaped JSON', (message) => JSON.stringify({ message }).replace('a', '\\u0061')],
    ['text', (message) => message],
    ['HTML', (message) => `<!doctype html><html><body><h1>Error</h1>\n<p>${message}</p></body></html>`],
  ];

  const ROWS: [number, string, new (...parameters: never[]) => PaymentServiceError, string][] = [
    [400, 'api:error.too_many_payments', PaymentTooManyPaymentsError, 'too-many-payments'],
    [401, 'Unauthenticated', PaymentUnauthenticatedError, 'unauthenticated'],
    [401, 'Unauthenticated.', PaymentUnauthenticatedError, 'unauthenticated'],
    [403, 'api:error.merchant_not_found', PaymentMerchantNotFoundError, 'merchant-not-found'],
    [403, 'api:error.merchant_banned', PaymentMerchantBannedError, 'merchant-banned'],
    [403, 'api:error.bill_not_found', PaymentBillNotFoundError, 'bill-not-found'],
  ];

  describe.each(ROWS)('7 Errors: %d %s', (status, message, type, code) => {
    test.each(SHAPES)('the error is recognised in an answer shaped as %s', async (_shape, body) => {
      recorded.recorder.answer({ status, body: body(message) });
      const error = await errorOf(list());
      expect(error).toBeInstanceOf(type);
      expect(error).toMatchObject({ code, status, shop: 'main', operation: 'listPayments' });
      expect(error.messageKey).toContain(message);
      expect(recorded.recorder.requests).toHaveLength(1);
    });
  });

  test.each([
    [400, '{"message":"Too many","error":"api:error.too_many_payments"}', PaymentTooManyPaymentsError],
    [
      403,
      '{"success":false,"message":"Forbidden","error_code":"api:error.merchant_banned"}',
      PaymentMerchantBannedError,
    ],
    [403, '{"title":"Forbidden","type":"api:error.bill_not_found"}', PaymentBillNotFoundError],
  ])('7 the key of an error %d is found beside a human-readable message: %s', async (status, body, type) => {
    recorded.recorder.answer({ status, body });
    expect(await errorOf(list())).toBeInstanceOf(type);
  });

  test('5.2 an invalid token is a 401 whatever the body says, on both operations', async () => {
    for (const body of ['', '{}', '<html></html>']) {
      recorded.recorder.answer({ status: 401, body });
      expect(await errorOf(list())).toBeInstanceOf(PaymentUnauthenticatedError);
      const creation = errorOf(recorded.harness.host.payments.createBill({ orderId: 'A-1', amount: '1' }));
      expect(await creation).toMatchObject({ code: 'unauthenticated', operation: 'createBill' });
    }
    expect((await recorded.harness.host.payments.findBills('A-1')).map(({ state }) => state)).toEqual(
      Array(3).fill('REJECTED'),
    );
  });

  describe('7 errors that are not documented (assumed)', () => {
    test("a refused creation is logged once a minute, with its shop_id and the service's message", async () => {
      recorded.harness.clock.advance(60_000);
      const warned: string[] = [];
      const spy = jest
        .spyOn(Logger.prototype, 'warn')
        .mockImplementation((line: unknown) => void warned.push(String(line)));
      const body = '{"success":false,"errors":{"shop_id":["The shop 4111 1111 1111 1111 is unknown."]},"error_code":7}';
      recorded.recorder.answer({ status: 422, body });
      for (const orderId of ['R-1', 'R-2']) {
        await errorOf(recorded.harness.host.payments.createBill({ orderId, amount: '1' }));
      }
      spy.mockRestore();
      expect(warned).toHaveLength(1);
      expect(warned[0]).toContain('The service refused to create a bill for shop_id "shop-main".');
      expect(warned[0]).toContain('(422 The shop 411111******1111 is unknown.)');
    });

    test.each([400, 403, 404, 409, 422])('any other %d is a refusal, and is not repeated', async (status) => {
      recorded.recorder.answer({ status, body: '{"message":"api:error.something_new"}' });
      expect(await errorOf(list())).toBeInstanceOf(PaymentRequestRefusedError);
      expect(recorded.recorder.requests).toHaveLength(1);
    });

    test.each([408, 425, 429, 500, 502, 503, 504])('a read answered %d is repeated', async (status) => {
      recorded.recorder.answer({ status, body: '<html>busy</html>' }, { body: '{"success":true,"data":[]}' });
      expect(await list()).toEqual([]);
      expect(recorded.recorder.requests).toHaveLength(2);
      recorded.recorder.answer({ status });
      expect(await errorOf(list())).toBeInstanceOf(PaymentServiceUnavailableError);
      expect(recorded.recorder.requests).toHaveLength(2);
    });

    test('a Retry-After longer than the caller should wait ends the tries, and is passed on', async () => {
      recorded.recorder.answer({ status: 503, headers: { 'retry-after': '120' } });
      expect(await errorOf(list())).toMatchObject({ code: 'service-unavailable', retryAfterMs: 120_000 });
      expect(recorded.recorder.requests).toHaveLength(1);
    });

    test.each([301, 302, 303, 307, 308])(
      'a redirect with %d is not followed, so that the token goes nowhere else',
      async (status) => {
        const elsewhere = await new Recorder().open();
        closeLater(() => elsewhere.close());
        recorded.recorder.answer({ status, headers: { location: `${elsewhere.url}/api/v1/bill/payments?id=bill-1` } });
        expect(await errorOf(list())).toBeInstanceOf(PaymentAnswerNotUnderstoodError);
        expect([recorded.recorder.requests.length, elsewhere.requests.length]).toEqual([1, 0]);
      },
    );

    test('an answer with success false is a refusal with its message', async () => {
      recorded.recorder.answer({ body: '{"success":false,"error":{"message":"api:error.maintenance"}}' });
      expect(await errorOf(list())).toMatchObject({ code: 'request-refused', messageKey: 'api:error.maintenance' });
    });
  });

  test('8.2 a bill whose list is refused for its length becomes a review', async () => {
    recorded.recorder.answer(createdBill('bill-82'));
    await recorded.harness.host.payments.createBill({ orderId: 'L-82', amount: '1' });
    recorded.recorder.answer({ status: 400, body: '{"message":"api:error.too_many_payments","success":false}' });
    recorded.harness.clock.advance(60_000);
    await recorded.harness.host.confirmer.runOnce();
    const { reviews, events } = await recorded.harness.host.ledger();
    expect(reviews).toMatchObject([{ orderId: 'L-82', reason: 'too-many-payments', state: 'OPEN', paymentId: null }]);
    expect(events.map(({ name }) => name)).toEqual(['payment.review']);
  });

  test('9.1 both paths carry the version prefix /api/v1/', async () => {
    recorded.recorder.answer(createdBill('bill-9'), { body: '{"success":true,"data":[]}' });
    await recorded.harness.host.payments.createBill({ orderId: 'V-1', amount: '1' });
    await list();
    expect(recorded.recorder.requests.map(({ path }) => path)).toEqual([
      '/api/v1/bill/create',
      '/api/v1/bill/payments',
    ]);
  });
});
