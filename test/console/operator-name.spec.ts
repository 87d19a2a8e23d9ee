import { afterEach, describe, expect, test } from '@jest/globals';
import type { CanActivate } from '@nestjs/common';
import { PaymentConsoleModule, type PaymentConsoleOptions } from 'nestjs-payment-console';
import { startHarness, type Harness } from '../support/harness.js';
import { Operator } from './support/operator.js';
import { Bookkeeper, record } from './support/records.js';

describe('the name of the operator', () => {
  let harness: Harness | undefined;
  afterEach(() => harness?.close());

  const consoleFor = async (options: PaymentConsoleOptions, user?: unknown) => {
    const guard: CanActivate = {
      canActivate: (context) => {
        context.switchToHttp().getRequest<{ user: unknown }>().user = user;
        return true;
      },
    };
    harness = await startHarness({
      providers: [Bookkeeper],
      imports: [PaymentConsoleModule.register({ ...options, guards: [guard] })],
      options: { http: { attempts: 1 } },
    });
    return new Operator(`${harness.host.url}/payment-console`);
  };

  test.each([
    [{ id: 7, email: 'ann@shop.example' }, 'ann@shop.example'],
    [{ email: ' ', username: 'ann' }, 'ann'],
    [{ sub: 'auth|1' }, 'auth|1'],
    [{ id: 7 }, '7'],
    ['ann', 'ann'],
  ])('the name of the operator is found in request.user %j', async (user, name) => {
    const operator = await consoleFor({}, user);
    expect((await operator.open()).text).toContain(`Payment console ${name} Overview`);
  });

  test('the name of the operator is what the host says, on one line and cut', async () => {
    const operator = await consoleFor({ operator: () => `  Ann\n${'x'.repeat(300)}` });
    expect((await operator.open()).text).toMatch(/Payment console Ann x{190,196} Overview/);
  });

  test.each([undefined, null, {}, { email: { a: 1 } }])(
    'an operator without a name (%j) can look, and do nothing',
    async (user) => {
      const operator = await consoleFor({}, user);
      const { lost } = await record(harness!, 'main');
      expect((await operator.open(`bills/${lost}`)).text).toContain('read-only');
      const asked = await operator.open(`actions/void-bill/${lost}`);
      expect([asked.status, asked.text]).toEqual([403, expect.stringContaining('The console does not know your name')]);
      const done = await fetch(asked.url, { method: 'POST', body: new URLSearchParams({ csrf: 'x' }) });
      expect(done.status).toBe(403);
      expect((await harness!.host.ledger()).bills.find(({ intentId }) => intentId === lost)).toMatchObject({
        state: 'UNKNOWN',
      });
    },
  );
});
