import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { inspect } from 'node:util';
import { EU_TOKEN, MAIN_TOKEN, startHarness, type Harness } from '../support/harness.js';
import { postForm, postJson, postbackFields, redirectFields } from '../support/http.js';
import { EffectWriter } from '../support/orders.js';

const CARD = '4111111111111111';

let harness: Harness;
const logged: string[] = [];
const errors: unknown[] = [];

/** Everything that could hold a secret: every row of every table, every line logged, every error thrown. */
async function everything(): Promise<string> {
  const tables: { name: string }[] = await harness.host.dataSource.query(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'payment_acceptance'`,
  );
  const rows = await Promise.all(
    tables.map(({ name }) => harness.host.dataSource.query(`SELECT * FROM payment_acceptance."${name}"`)),
  );
  const thrown = errors.map((error) => inspect(error, { depth: 10, showHidden: true }) + JSON.stringify(error));
  return [JSON.stringify(rows), ...logged, ...thrown].join('\n');
}

describe('invariant 13: secrets appear in no log, error, inspection, JSON or stored record', () => {
  beforeAll(async () => {
    for (const level of ['log', 'warn', 'error', 'debug', 'verbose'] as const) {
      jest.spyOn(Logger.prototype, level).mockImplementation((...parts: unknown[]) => {
        logged.push(inspect(parts, { depth: 10, showHidden: true }));
      });
    }
    harness = await startHarness({ providers: [EffectWriter] });
  });
  afterAll(async () => {
    await harness.close();
    jest.restoreAllMocks();
  });

  test('no secret appears anywhere after payments, forgeries, card numbers in fields, and failures', async () => {
    const { billId } = await harness.host.payments.createBill({
      orderId: 'secret',
      amount: '10',
      description: `paid with ${CARD}`,
      name: '4111 1111 1111 1111',
    });
    const signed = postbackFields({ InvId: 'secret', OutSum: '10.00', TrsId: billId });
    const redirect = redirectFields({ InvId: 'secret', OutSum: '10.00' });
    await harness.sandbox.pay(billId, { card: CARD });
    await postJson(`${harness.host.url}/postback/payment`, { ...signed, PayerCard: CARD, Nested: { card: CARD } });
    await postForm(`${harness.host.url}/postback/payment`, { ...signed, note: `card 4111 1111 1111 1111` });
    await postForm(`${harness.host.url}/redirect/payment/success`, redirect);
    await postForm(`${harness.host.url}/redirect/payment/success`, { ...redirect, SignatureValue: 'A'.repeat(32) });
    await harness.settle();
    for (const fault of ['status500', 'html', 'unauthenticated', 'loseAnswer', 'resetBefore', 'malformed'] as const) {
      await harness.sandbox.setFaults({ requests: { [fault]: 1 } });
      await harness.host.payments
        .createBill({ orderId: fault, amount: '1' })
        .catch((error: unknown) => errors.push(error));
      await harness.host.payments.listPayments(billId).catch((error: unknown) => errors.push(error));
      harness.clock.advance(7 * 3_600_000);
      await harness.settle();
    }
    expect(errors.length).toBe(12);

    const seen = await everything();
    expect(seen).toContain('411111******1111');
    for (const secret of [MAIN_TOKEN, EU_TOKEN, CARD, '4111 1111 1111 1111']) expect(seen).not.toContain(secret);
    for (const digest of [signed.SignatureValue!, redirect.SignatureValue!]) expect(seen).not.toContain(digest);
  });

  test('no secret appears when the services are inspected', () => {
    for (const service of [
      harness.host.payments,
      harness.host.payments.shop('eu'),
      harness.host.confirmer,
      harness.host.deliveries,
    ]) {
      expect(inspect(service, { depth: 10, showHidden: true })).not.toMatch(/token-0123456789abcdef/);
    }
  });
});
