import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PaymentCallbacks } from 'nestjs-payment-acceptance/callbacks';
import { ADAPTERS } from '../support/adapters.js';
import { startHarness, type Harness } from '../support/harness.js';
import { postbackFields, postForm, postJson } from '../support/http.js';

const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown;

describe.each(ADAPTERS)('postbacks on %s', (adapter) => {
  let harness: Harness;
  let count = 0;
  beforeAll(async () => {
    harness = await startHarness({ adapter, options: { callbacks: { maxUnmatched: 3 } } });
  });
  afterAll(() => harness.close());

  const target = (suffix = '') => `${harness.host.url}/postback/payment${suffix}`;
  async function billed() {
    count += 1;
    const bill = await harness.host.payments.createBill({ orderId: `P-${count}`, amount: '100.05', custom: 'cart 7' });
    const fields = {
      ...postbackFields({ InvId: bill.orderId, OutSum: '100.05', TrsId: bill.billId }),
      custom: 'cart 7',
    };
    return { ...bill, fields: fields as Record<string, string> };
  }
  const storedOf = async (billId: string) =>
    (await harness.host.ledger()).callbacks.filter((each) => each.trsId === billId);
  async function rawOf(billId: string): Promise<Record<string, unknown>[]> {
    const rows: { fields: Record<string, unknown> }[] = await harness.host.dataSource.query(
      'SELECT fields FROM payment_acceptance.callback WHERE bill_id = $1',
      [billId],
    );
    return rows.map(({ fields }) => fields);
  }

  describe('4.4 Postback', () => {
    test.each([
      ['JSON', postJson],
      ['a form (assumed)', postForm],
    ])('a POST of %s is stored, then answered with 200 and OK (assumed)', async (_name, post) => {
      const { billId, orderId, fields } = await billed();
      const answer = await post(target(), fields);
      expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
        200,
        'text/plain; charset=utf-8',
        'OK',
      ]);
      expect(await storedOf(billId)).toMatchObject([
        {
          kind: 'postback',
          shop: 'main',
          billId,
          orderId,
          status: 'SUCCESS',
          digest: 'match',
          corroboration: { order: 'match', amount: 'match', currency: 'match', custom: 'match' },
          pending: true,
        },
      ]);
      expect(await harness.host.payments.findBills(orderId)).toMatchObject([{ state: 'OPEN' }]);
    });

    test('every copy of a postback is stored and answered alike', async () => {
      const { billId, fields } = await billed();
      const answers = await Promise.all(Array.from({ length: 5 }, () => postJson(target(), fields)));
      expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(200));
      expect(await storedOf(billId)).toHaveLength(5);
    });

    test('a postback for an unknown shop is answered 404', async () => {
      const { fields } = await billed();
      expect((await postJson(target('/unknown'), fields)).status).toBe(404);
      expect((await postJson(target('/eu'), fields)).status).toBe(200);
    });
  });

  describe('2.5 Postback fields', () => {
    test('every field of a postback is stored as sent, also unknown ones, except its SignatureValue', async () => {
      const { billId, fields } = await billed();
      const more = {
        Commission: '2.10',
        AccountType: 'card',
        BalanceAmount: '1.00',
        PayerEmail: 'a@example',
        ErrorCode: 0,
      };
      expect((await postJson(target(), { ...fields, ...more })).status).toBe(200);
      const { SignatureValue: _, ...kept } = fields;
      expect(await rawOf(billId)).toEqual([{ ...kept, ...more }]);
    });

    test('a card number in a postback is masked before it is stored', async () => {
      const { billId, fields } = await billed();
      await postJson(target(), { ...fields, AccountNumber: '4111 1111 1111 1111' });
      expect(await rawOf(billId)).toMatchObject([{ AccountNumber: '411111******1111' }]);
    });

    test.each(['UNDERPAID', 'OVERPAID', 'success', 'Оплачен'])(
      'a postback with the undocumented Status %s is stored',
      async (Status) => {
        const { billId, fields } = await billed();
        expect((await postJson(target(), { ...fields, Status })).status).toBe(200);
        expect(await storedOf(billId)).toMatchObject([{ status: Status }]);
      },
    );

    test('fields that a postback lacks are recorded as absent, and it is stored', async () => {
      const { billId } = await billed();
      expect((await postJson(target(), { TrsId: billId })).status).toBe(200);
      const absent = { order: 'absent', amount: 'absent', currency: 'absent', custom: 'absent' };
      expect(await storedOf(billId)).toMatchObject([{ billId, corroboration: absent, digest: 'absent' }]);
      expect((await postJson(target(), { TrsId: billId, OutSum: 'ten' })).status).toBe(200);
      const unreadable = expect.objectContaining({ corroboration: { ...absent, amount: 'mismatch' } });
      expect(await storedOf(billId)).toContainEqual(unreadable);
    });

    test('fields of a postback that differ from the bill are recorded as mismatches, and it is stored', async () => {
      const { billId, fields } = await billed();
      const other = { ...fields, InvId: 'P-of-another', OutSum: '1.00', CurrencyIn: 'USD', custom: 'x' };
      expect((await postJson(target(), other)).status).toBe(200);
      const mismatch = { order: 'mismatch', amount: 'mismatch', currency: 'mismatch', custom: 'mismatch' };
      expect(await storedOf(billId)).toMatchObject([{ billId, corroboration: mismatch, digest: 'mismatch' }]);
    });

    test.each<[string, Record<string, unknown>]>([
      ['longer than any of ours', { custom: `cart 7${'x'.repeat(50_000)}`, CurrencyIn: `RUB${' '.repeat(1_000)}`, Commission: 'x'.repeat(5_000) }],
      ['longer but for what no database takes', { custom: `cart 7${'\0'.repeat(5_000)}`, CurrencyIn: `RUB${'\0'.repeat(20)}` }],
      ['of other forms', { custom: { cart: 7 }, CurrencyIn: ['RUB'], Commission: { amount: '2.10', currency: 'RUB' } }],
      ['nested deeply', { custom: nested(500), CurrencyIn: nested(500), Commission: nested(500) }],
    ])('a postback is stored, without a match, although its fields are %s', async (_name, told) => {
      const { billId, fields } = await billed();
      expect((await postJson(target(), { ...fields, ...told })).status).toBe(200);
      const corroboration = { order: 'match', amount: 'match', currency: 'mismatch', custom: 'mismatch' };
      expect(await storedOf(billId)).toMatchObject([{ billId, corroboration, digest: 'match' }]);
      const [raw] = await rawOf(billId);
      expect(JSON.stringify(raw).length).toBeLessThanOrEqual(16_384);
      expect(Object.keys(raw!)).toEqual(expect.arrayContaining(['InvId', 'TrsId', 'custom']));
    }); // prettier-ignore

    test('an InvId that could be a card number is masked where it is stored, but compared as sent', async () => {
      const orderId = '4111111111111111';
      const { billId } = await harness.host.payments.createBill({ orderId, amount: '100.05' });
      await postJson(target(), postbackFields({ InvId: orderId, OutSum: '100.05', TrsId: billId }));
      expect(await storedOf(billId)).toMatchObject([
        { orderId: '411111******1111', digest: 'match', corroboration: { order: 'match' } },
      ]);
    });

    test.each([
      ['a comma in the amount', { OutSum: '100,05' }],
      ['spaces in the amount', { OutSum: '1 000.00' }],
      ['an amount with a sign', { OutSum: '+100.05' }],
      ['no amount', { OutSum: undefined }],
      ['an amount that is none', { OutSum: { much: true } }],
      ['no order', { InvId: undefined }],
      ['an order longer than any of ours', { InvId: 'x'.repeat(300) }],
      ['two orders', { InvId: ['A-1', 'A-2'] }],
      ['no status', { Status: undefined }],
      ['a long status', { Status: 'x'.repeat(100) }],
    ])('a postback that names its bill is stored and causes a check, with %s (assumed)', async (_what, odd) => {
      const { fields, billId } = await billed();
      expect((await postJson(target(), { ...fields, ...odd })).status).toBe(200);
      expect(await storedOf(billId)).toMatchObject([{ kind: 'postback', billId, pending: true }]);
    });

    test('a postback with an unknown TrsId causes a check of the bill whose intent id is its custom (assumed)', async () => {
      const { fields, billId, intentId } = await billed();
      const { fields: other, billId: foreign } = await billed();
      for (const TrsId of ['id-of-the-payment', undefined]) {
        expect((await postJson(target(), { ...fields, TrsId, custom: intentId })).status).toBe(200);
      }
      const askedOf = async () => (await harness.host.ledger()).callbacks.filter((each) => each.billId === billId);
      const hint = { kind: 'postback', pending: true, trsId: null };
      expect(await askedOf()).toMatchObject([hint, hint]);
      // It may be a bill that the ledger has lost, so the postback waits for that one, too.
      expect(await storedOf('id-of-the-payment')).toMatchObject([{ billId: null, pending: true }]);
      // A TrsId that is a bill's decides, whatever custom says; an id of nothing names nothing.
      expect((await postJson(target(), { ...other, custom: intentId })).status).toBe(200);
      expect(await storedOf(foreign)).toMatchObject([{ billId: foreign }]);
      expect((await askedOf()).length).toBe(2);
      const unknown = '00000000-0000-4000-8000-000000000001';
      expect((await postJson(target(), { ...fields, TrsId: 'of-nobody', custom: unknown })).status).toBe(200);
      expect((await postJson(target(), { ...fields, TrsId: undefined, custom: unknown })).status).toBe(400);
    });

    test('isOurs tells whether a TrsId of any form names a bill of ours', async () => {
      const { billId } = await billed();
      const callbacks = harness.host.app.get(PaymentCallbacks);
      const odd: unknown[] = [null, undefined, {}, { toString: 1 }, [billId], 'a\0', '', true, 17];
      expect(await Promise.all(odd.map(async (each) => callbacks.isOurs('main', each)))).toEqual(odd.map(() => false));
      expect(await callbacks.isOurs(undefined, billId)).toBe(true);
    });

    test('a postback that names no bill is answered 400 with the reason, and not stored', async () => {
      const { fields, billId } = await billed();
      for (const TrsId of [undefined, '', 'x'.repeat(129), [billId, 'other'], { id: billId }]) {
        const answer = await postJson(target(), { ...fields, TrsId });
        expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'application/json; charset=utf-8']);
        expect(await answer.json()).toMatchObject({ success: false, errors: [{ field: 'TrsId' }] });
      }
      expect(await storedOf(billId)).toEqual([]);
    });

    test.each(['[]', '"text"', '7', '{"a":', ''])(
      'a postback whose body is no object, %j, is answered 400',
      async (body) => {
        const headers = { 'content-type': 'application/json' };
        expect((await fetch(target(), { method: 'POST', headers, body })).status).toBe(400);
      },
    );
  });

  describe('5.6 the formula of the postback’s SignatureValue is not shown (assumed)', () => {
    test.each([
      ['absent', undefined, 'absent'],
      ['of another formula', 'A'.repeat(32), 'mismatch'],
    ])(
      'a postback is stored although its SignatureValue is %s, which is recorded',
      async (_name, SignatureValue, digest) => {
        const { billId, fields } = await billed();
        expect((await postJson(target(), { ...fields, SignatureValue })).status).toBe(200);
        expect(await storedOf(billId)).toMatchObject([{ digest }]);
      },
    );
  });

  test('4.4 a postback that cannot be stored, or is beyond the bound for unknown bills, is answered 503', async () => {
    const unknown = (number: number) =>
      postJson(target(), postbackFields({ InvId: 'X', OutSum: '1.00', TrsId: `nobodys-${number}` }));
    const before = (await harness.host.ledger()).callbacks.filter(
      ({ billId, shop }) => billId === null && shop === 'main',
    ).length;
    for (let free = before; free < 3; free += 1) expect((await unknown(free)).status).toBe(200);
    const answer = await unknown(99);
    expect([answer.status, await answer.json()]).toEqual([503, expect.objectContaining({ success: false })]);
    const { fields } = await billed();
    expect((await postJson(target(), fields)).status).toBe(200);
    // A full queue is counted once a second, so that to refuse costs less than to accept.
    await harness.host.dataSource.query('DELETE FROM payment_acceptance.callback WHERE intent_id IS NULL');
    expect((await unknown(99)).status).toBe(503);
    harness.clock.advance(1_000);
    expect((await unknown(99)).status).toBe(200);
    await harness.host.dataSource.query('ALTER TABLE payment_acceptance.callback RENAME TO away');
    expect((await postJson(target(), fields)).status).toBe(503);
    await harness.host.dataSource.query('ALTER TABLE payment_acceptance.away RENAME TO callback');
    expect((await postJson(target(), fields)).status).toBe(200);
  });
});

describe('options for what is not documented', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness({ options: { callbacks: { replyBody: 'YES', requirePostbackDigest: true } } });
  });
  afterAll(() => harness.close());

  test('4.4 and 5.6 replyBody sets the reply, and requirePostbackDigest refuses postbacks of another formula', async () => {
    const { billId, orderId } = await harness.host.payments.createBill({ orderId: 'O-1', amount: '1' });
    const fields = postbackFields({ InvId: orderId, OutSum: '1.00', TrsId: billId });
    const answer = await postJson(`${harness.host.url}/postback/payment`, fields);
    expect([answer.status, await answer.text()]).toEqual([200, 'YES']);
    for (const SignatureValue of [undefined, 'A'.repeat(32)]) {
      expect((await postJson(`${harness.host.url}/postback/payment`, { ...fields, SignatureValue })).status).toBe(403);
    }
    expect((await harness.host.ledger()).callbacks).toHaveLength(1);
  });
});
