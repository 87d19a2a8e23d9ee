import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import {
  PaymentAnswerNotUnderstoodError,
  PaymentBillAddressError,
  PaymentServiceNetworkError,
  PaymentUnknownOutcomeError,
  type PaymentServiceError,
} from 'nestjs-payment-acceptance';
import { MAIN_TOKEN } from '../support/harness.js';
import { createdBill, startRecordedHarness, type RecordedHarness } from '../support/recorded-harness.js';
import { Recorder } from '../support/recorder.js';
import { drip, pour, raw, type Answer } from './support/raw-answers.js';

/** Limits of an answer's size and a request's duration in this file. */
const LIMITS = { maxAnswerBytes: 100_000, totalTimeoutMs: 1_000 };
/** A request that has timed out ends soon after, even on a busy machine. */
const SOON_MS = 10_000;

let recorded: RecordedHarness;
let elsewhere: Recorder;
let count = 0;

describe('outgoing', () => {
  beforeAll(async () => {
    recorded = await startRecordedHarness({}, LIMITS);
    elsewhere = await new Recorder().open();
  });
  afterAll(async () => {
    await recorded.close();
    await elsewhere.close();
  });

  async function thrown(work: Promise<unknown>): Promise<unknown> {
    return work.then(
      (value) => {
        throw new Error(`Expected an error, but got ${JSON.stringify(value)}.`);
      },
      (error: unknown) => error,
    );
  }

  type ErrorType = new (...parameters: never[]) => PaymentServiceError;

  /** The errors of a creation and a read. A check of an open bill must fail as well, and settle afterwards. */
  async function outcomes(
    answer: Answer,
  ): Promise<{ reading: PaymentServiceError; creating: PaymentUnknownOutcomeError }> {
    count += 1;
    const { payments, confirmer, ledger } = recorded.harness.host;
    const settled = async (): Promise<unknown[]> => {
      const { payments: paid, events, reviews } = await ledger();
      return [...paid, ...events, ...reviews].filter((row) => row.orderId === known);
    };
    const [known, orderId] = [`known-${count}`, `attacked-${count}`];
    recorded.recorder.answer(createdBill(known));
    await payments.createBill({ orderId: known, amount: '10' });
    recorded.harness.clock.advance(60_000);
    recorded.recorder.answer(answer);
    const began = Date.now();
    const [reading, creating] = await Promise.all([
      thrown(payments.shop().listPayments(known, { attempts: 1 })),
      thrown(payments.createBill({ orderId, amount: '10' })),
      confirmer.runOnce(),
    ]);
    expect(Date.now() - began).toBeLessThan(LIMITS.totalTimeoutMs + SOON_MS);
    expect(recorded.recorder.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
    const { bills } = await ledger();
    const checked = bills.find((bill) => bill.orderId === known);
    expect(checked).toMatchObject({ state: 'OPEN', lastCheckError: expect.any(String) as unknown });
    expect(bills.find((bill) => bill.orderId === orderId)).toMatchObject({ state: 'UNKNOWN', billId: null });
    expect(await settled()).toEqual([]);
    expect(creating).toBeInstanceOf(PaymentUnknownOutcomeError);

    const paid = { id: known, bill_id: known, status: 'SUCCESS', amount: '10.00', currency_in: 'RUB' };
    recorded.recorder.answer({ body: JSON.stringify({ success: true, data: [paid] }) });
    recorded.harness.clock.advance(60_000);
    // After so many failures the service is called once a second, and bills of earlier attacks may be due, too.
    for (let second = 0; second < 10 && (await settled()).length === 0; second += 1) {
      await confirmer.runOnce();
      recorded.harness.clock.advance(1_000);
    }
    expect(await settled()).toMatchObject([{ status: 'SUCCESS' }, { name: 'payment.succeeded' }]);
    return { reading: reading as PaymentServiceError, creating: creating as PaymentUnknownOutcomeError };
  }

  describe('the service answers with a redirect', () => {
    test.each([300, 301, 302, 303, 304, 307, 308])(
      'a redirect of the service with %d is not followed, and its target gets neither token nor form',
      async (status) => {
        const headers = { location: `${elsewhere.url}/stolen`, refresh: `0; url=${elsewhere.url}/stolen` };
        const { reading, creating } = await outcomes({ status, headers });
        expect(reading).toBeInstanceOf(PaymentAnswerNotUnderstoodError);
        expect(creating.cause).toBeInstanceOf(PaymentAnswerNotUnderstoodError);
        expect(elsewhere.requests).toEqual([]);
      },
    );
  });

  describe('the service answers without limits', () => {
    const bytes = Buffer.alloc(60_000_000, ' ');
    const packed = (encoding: string, body: Buffer): Answer => ({ body, headers: { 'content-encoding': encoding } });
    const sent = { bytes: 0 };
    const ATTACKS: [string, Answer][] = [
    ['a huge body', { body: bytes.subarray(0, 5_000_000) }],
    ['a body without an end', pour('HTTP/1.1 200 OK\r\n\r\n', bytes.subarray(0, 65_536), sent)],
    ['a body that announces more than there is memory', raw((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9007199254740991\r\n\r\n{'))],
    ['a gzip bomb', packed('gzip', gzipSync(bytes))],
    ['a deflate bomb', packed('deflate', deflateSync(bytes))],
    ['a Brotli bomb', packed('br', brotliCompressSync(bytes))],
    ['what is not the gzip it says', packed('gzip', Buffer.from('{"success":true,"data":[]}'))],
    ['headers without an end', pour('HTTP/1.1 200 OK\r\n', Buffer.from(`x-more: ${'x'.repeat(1_000)}\r\n`), sent)],
    ['one header without an end', pour('HTTP/1.1 200 OK\r\nx-more: ', Buffer.alloc(10_000, 'x'), sent)],
    ['headers that drip', drip('HTTP/1.1 200 OK\r\n', () => 'x: y\r\n')],
    ['a body that drips', drip('HTTP/1.1 200 OK\r\n\r\n', () => ' ')],
    ['interim answers without an end', drip('', () => 'HTTP/1.1 103 Early Hints\r\n\r\n')],
    ['chunks without an end, none with anything in it', drip('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', () => '1\r\n \r\n')],
    ['a switch to another protocol', raw((socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'))],
  ]; // prettier-ignore

    test.each(ATTACKS)('%s from the service is aborted, bounded in time and memory', async (_name, answer) => {
      sent.bytes = 0;
      const { reading, creating } = await outcomes(answer);
      expect(reading).toBeInstanceOf(PaymentServiceNetworkError);
      expect(creating.cause).toBeInstanceOf(PaymentServiceNetworkError);
      expect(creating.cause).toMatchObject({ mayHaveLeft: true });
      // Two readers, and the buffers of sockets and streams.
      expect(sent.bytes).toBeLessThan(20_000_000);
    });
  });

  describe('the service sends an invalid answer', () => {
    const ATTACKS: [string, ErrorType, Answer][] = [
    ['an HTML page', PaymentAnswerNotUnderstoodError, { body: '<html>', headers: { 'content-type': 'text/html' } }],
    ['bytes that are no text', PaymentAnswerNotUnderstoodError, { body: Buffer.from([0xff, 0xfe, 0, 0x80]) }],
    ['a list too deep for a stack', PaymentAnswerNotUnderstoodError, { body: `${'['.repeat(45_000)}${']'.repeat(45_000)}` }],
    ['an object too deep for one', PaymentAnswerNotUnderstoodError, { body: `${'{"a":'.repeat(16_000)}1${'}'.repeat(16_000)}` }],
    ['fields only of its prototype', PaymentAnswerNotUnderstoodError, { body: '{"__proto__":{"success":"true","bill_id":"b","data":[]}}' }],
    ['one field with two values', PaymentAnswerNotUnderstoodError, { body: '{"success":"true","bill_id":"a","bill_id":"b","data":[],"data":[1]}' }],
    ['a number without an end', PaymentAnswerNotUnderstoodError, { body: `{"success":"true","bill_id":${'9'.repeat(90_000)},"data":9}` }],
    ['a bill_id with a query of its own', PaymentAnswerNotUnderstoodError, { body: '{"success":"true","bill_id":"b 1&id=2\\r\\n","data":{"first":{}}}' }],
  ]; // prettier-ignore

    test.each(ATTACKS)(
      '%s from the service is not understood, and nothing of it is stored',
      async (_name, type, answer) => {
        const { reading, creating } = await outcomes(answer);
        expect(reading).toBeInstanceOf(type);
        expect(creating.cause).toBeInstanceOf(type);
        expect(({} as Record<string, unknown>).success).toBeUndefined();
      },
    );

    test('JSON with another content type can still be read: it is the same service', async () => {
      const headers = { 'content-type': 'application/octet-stream; charset=utf-16' };
      recorded.recorder.answer({ ...createdBill('typed'), headers });
      await expect(recorded.harness.host.payments.createBill({ orderId: 'typed', amount: '1' })).resolves.toMatchObject(
        {
          billId: 'typed',
        },
      );
    });

    test('a message that repeats the token does not carry it into an error or a column', async () => {
      const body = JSON.stringify({
        success: false,
        message: `Bearer ${MAIN_TOKEN} ${'x'.repeat(50_000)}`,
        bill_id: 'b',
      });
      const { reading, creating } = await outcomes({ status: 500, body });
      const told = JSON.stringify([
        reading,
        creating,
        creating.cause,
        String(creating),
        await recorded.harness.host.ledger(),
      ]);
      expect(told).not.toContain(MAIN_TOKEN);
      expect(reading.message.length).toBeLessThan(1_000);
    });
  });

  describe('the service names a payment page', () => {
    const create = (address: unknown) => {
      count += 1;
      const orderId = `page-${count}`;
      recorded.recorder.answer(createdBill(orderId, { link_page_url: address, link_url: address }));
      const bill = recorded.harness.host.payments.createBill({ orderId, amount: '10' });
      return { orderId, bill };
    };

    test.each([
      'javascript:alert(document.domain)',
      ' \tJaVa\nScRiPt:alert(1)',
      'data:text/html,<script>alert(1)</script>',
      'vbscript:msgbox',
      'file:///etc/passwd',
      'blob:https://pay.example/1',
      '//evil.example/transfer',
      '\\\\evil.example\\transfer',
      { toString: 'https://pay.example' },
      ['https://pay.example'],
    ])('a payer is not sent to the payment page %j, but the bill is kept and checked', async (address) => {
      const { orderId, bill } = create(address);
      expect(await thrown(bill)).toBeInstanceOf(PaymentBillAddressError);
      expect(await recorded.harness.host.payments.findBills(orderId)).toMatchObject([
        { state: 'OPEN', billId: orderId, linkUrl: null, linkPageUrl: null },
      ]);
    });

    test('a payment page with control characters or non-ASCII letters is returned as a browser reads it', async () => {
      const { bill } = create('https://pay.example/a\r\nSet-Cookie: stolen=1\0\r\n\r\n<p>п');
      expect((await bill).linkPageUrl).toBe('https://pay.example/aSet-Cookie:%20stolen=1%00%3Cp%3E%D0%BF');
    });

    test('a payer is sent to a payment page at a private address, but we never call it', async () => {
      for (const address of [
        `${elsewhere.url}/transfer/1`,
        'http://169.254.169.254/latest/meta-data',
        'http://[::1]/',
      ]) {
        expect((await create(address).bill).linkPageUrl).toBe(address);
      }
      await recorded.harness.settle();
      expect(elsewhere.requests).toEqual([]);
    });
  });
});
