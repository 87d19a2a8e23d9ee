import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { ConsoleLogger, Injectable, Logger } from '@nestjs/common';
import { PaymentNonRetryableError, OnPaymentSucceeded } from 'nestjs-payment-acceptance';
import { PaymentProbe } from 'nestjs-payment-acceptance/testing';
import { MAIN_TOKEN, startHarness, type Harness } from '../support/harness.js';

@Injectable()
class Orders {
  @OnPaymentSucceeded({ consumer: 'orders' })
  take(): Promise<void> {
    return Promise.reject(new PaymentNonRetryableError('the stock is unknown'));
  }
}

let harness: Harness;

/** Runs work and returns the log lines of the host. */
async function written(logger: ConsoleLogger, work: () => Promise<unknown>): Promise<string[]> {
  const lines: string[] = [];
  const keep = (text: string | Uint8Array) => lines.push(...String(text).split('\n').filter(Boolean)) > 0;
  const spies = [process.stdout, process.stderr].map((stream) => jest.spyOn(stream, 'write').mockImplementation(keep));
  Logger.overrideLogger(logger);
  await work().finally(() => {
    Logger.overrideLogger(false);
    for (const spy of spies) spy.mockRestore();
  });
  return lines;
}

async function trouble(orderId: string): Promise<{ billId: string; intentId: string }> {
  const bill = await harness.host.payments.createBill({ orderId, amount: '10' });
  await harness.sandbox.setFaults({ requests: { status500: 1 } });
  await harness.sandbox.pay(bill.billId);
  await harness.settle();
  await harness.sandbox.clearFaults();
  harness.clock.advance(60_000);
  await harness.settle();
  return bill;
}

describe('parameters of a log line', () => {
  beforeAll(async () => {
    harness = await startHarness({
      providers: [Orders],
      options: {
        http: { attempts: 1 },
      },
    });
  });
  afterAll(async () => {
    await harness.close();
    Logger.overrideLogger(false);
  });

  test('a log line in JSON has its parameters as properties of the message', async () => {
    let bill = { billId: '', intentId: '' };
    const lines = await written(new ConsoleLogger({ json: true }), async () => {
      bill = await trouble('json');
    });
    const records = lines.map((line) => JSON.parse(line) as { context: string; message: unknown });
    const { billId, intentId } = bill;
    expect(records.shift()).toMatchObject({
      level: 'log',
      context: 'PaymentBills',
      message: expect.stringMatching(
        /^payment-acceptance bill created: bill \S+ of order json of shop main: [\w-]+\.[0-9a-f]{64}$/,
      ),
    });
    expect(records).toMatchObject([
      {
        level: 'warn',
        context: 'PaymentChecks',
        message: {
          code: 'check-failed',
          msg: expect.stringContaining('could not be checked'),
          ...{ shop: 'main', orderId: 'json', billId, intentId, error: 'service-unavailable' },
          ...{ check: expect.any(String), againInMs: expect.any(Number) },
        },
      },
      {
        level: 'error',
        context: 'PaymentDeliveries',
        message: {
          code: 'delivery-dead',
          msg: expect.stringContaining('dead letter'),
          ...{ consumer: 'orders', event: 'payment.succeeded', attempt: 1, error: 'PaymentNonRetryableError' },
        },
      },
    ]);
    expect(lines.join('\n')).not.toContain(MAIN_TOKEN);
  });

  test('a log line in text has its parameters after the message, on the same line', async () => {
    const [created, ...lines] = await written(new ConsoleLogger({ colors: false }), () => trouble('text'));
    expect(created).toMatch(
      /LOG \[PaymentBills\] payment-acceptance bill created: bill \S+ of order text of shop main: \S+$/,
    );
    expect(lines.length).toBe(2);
    expect(lines[0]).toMatch(
      /WARN \[PaymentChecks\] check-failed: Bill .* \{ shop: 'main', orderId: 'text', billId: .* \}( \+\d+ms)?$/,
    );
    expect(lines.join('\n')).not.toMatch(/undefined/);
  });

  test('a bill that the service has created is logged before it is stored, and stored even if a logger fails', async () => {
    const points: string[] = [];
    const probe = harness.host.app.get(PaymentProbe);
    probe.reached = (point) => void points.push(point);
    const logger = new ConsoleLogger();
    jest.spyOn(logger, 'log').mockImplementation((line: unknown) => {
      points.push(String(line));
      throw new Error('the disk of the logs is full');
    });
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    Logger.overrideLogger(logger);
    const { billId } = await harness.host.payments.createBill({ orderId: 'failing', amount: '10' });
    Logger.overrideLogger(false);
    probe.reached = () => undefined;
    const line = points.findIndex((point) => point.includes(`bill created: bill ${billId} `));
    expect(line).toBeGreaterThan(0);
    expect(points.indexOf('before UPDATE payment_acceptance.bill')).toBeGreaterThan(line);
    expect(warned).toHaveBeenCalledWith(expect.stringContaining(billId));
    warned.mockRestore();
  });
});
