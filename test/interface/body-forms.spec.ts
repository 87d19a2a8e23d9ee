import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sendRaw } from '../attacks/support/sending.js';
import { postbackFields } from '../support/http.js';
import { startHarness, type Harness } from '../support/harness.js';
import { BODY_FORMS } from './support/body-forms.js';

test('there are more than seventy body forms', () => expect(BODY_FORMS.length).toBeGreaterThan(70));

describe.each(['express', 'fastify'] as const)('body forms of a postback on %s', (adapter) => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness({ adapter });
  });
  afterAll(() => harness.close());

  test.each(BODY_FORMS)('a postback with $name: $outcome', async ({ name, request, outcome }) => {
    const { host } = harness;
    const orderId = `order of ${name}`;
    const { billId } = await host.payments.createBill({ orderId, amount: '100.05', custom: 'Заказ' });
    const fields = postbackFields({ InvId: orderId, OutSum: '100.05', TrsId: billId });
    const answer = await sendRaw(host.url, request({ ...fields, custom: 'Заказ' }));
    const [, status] = /HTTP\/1\.1 (?!100)(\d+) /.exec(answer) ?? [];
    if (typeof outcome === 'number') return expect(Number(status)).toBe(outcome);
    expect(status).toBe('200');
    const [callback] = (await host.ledger()).callbacks;
    const { currency: _currency, ...compared } = callback!.corroboration;
    const isBilled = callback!.billId === billId && Object.values(compared).every((each) => each === 'match');
    expect(isBilled ? 'as billed' : 'odd').toBe(outcome);
  });
});
