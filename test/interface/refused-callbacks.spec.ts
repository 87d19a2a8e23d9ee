import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { Logger } from '@nestjs/common';

import { PaymentHealthIndicator, PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { startHarness, type Harness } from '../support/harness.js';
import { postbackFields, postForm, postJson } from '../support/http.js';

describe.each(['express', 'fastify'] as const)('callbacks that are refused, on %s', (adapter) => {
  let harness: Harness;
  let log: string[];
  beforeAll(async () => {
    log = [];
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: unknown) => void log.push(String(line)));
    harness = await startHarness({ adapter });
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    await harness.close();
  });

  const degraded = async () => {
    const { payments } = await harness.host.app.get(PaymentHealthIndicator).isHealthy('payments');
    return payments.degraded;
  };

  test('refused callbacks are logged without values, counted, and degrade health until one is taken', async () => {
    const to = (path: string) => `${harness.host.url}/${path}`;
    const body = { OutSum: '4111 1111', BillId: 'secret-bill', Status: 'SUCCESS', 'evil\u202e\nname': ['x'] };
    expect((await postJson(to('postback/payment'), body)).status).toBe(400);
    expect(log.filter((line) => line.includes('was refused with 400'))).toEqual([
      expect.stringMatching(
        /\(postback\) of shop "main" .*TrsId must be .*"application\/json.*" with 4 fields: OutSum \(9 characters\), BillId \(11 characters\), Status \(7 characters\), a name of 10 characters \(a list\)\./,
      ),
    ]);
    expect(log.join()).not.toMatch(/4111|secret-bill|\u202e/);
    expect(await degraded()).not.toContain('callbacks-refused');
    for (const _time of [1, 2]) await postForm(to('redirect/payment/success'), { InvId: 'A-1' });
    expect(await degraded()).toContain('callbacks-refused');
    const { dropped } = await harness.host.app.get(PaymentOperations).stats();
    expect(dropped.malformedCallbacks).toBe(3);
    expect(
      (await postJson(to('postback/payment'), postbackFields({ InvId: 'A-1', OutSum: '1.00', TrsId: 'some-bill' })))
        .status,
    ).toBe(200);
    expect(await degraded()).not.toContain('callbacks-refused');
  });
});
