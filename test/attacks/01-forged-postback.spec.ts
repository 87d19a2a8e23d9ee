import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { postJson, postbackFields } from '../support/http.js';
import { ONE_ADAPTER } from '../support/adapters.js';
import { startAttackedShop, TOKENS, type AttackedShop } from './support/attacked-shop.js';
import { sendForm } from './support/sending.js';

describe.each(ONE_ADAPTER)('forged postbacks, on %s', (adapter) => {
  let shop: AttackedShop;
  beforeAll(async () => {
    shop = await startAttackedShop(adapter);
  });
  afterAll(() => shop.close());

  /** Sends a postback that says the bill is paid. */
  async function forge(fields: Record<string, string>, send: typeof postJson = postJson) {
    const answer = await send(`${shop.url}/postback/payment`, fields);
    return [answer.status, await answer.text()];
  }
  const claims = ({ id, billId }: { id: string; billId: string }) => ({
    Status: 'SUCCESS',
    InvId: id,
    Commission: '0.00',
    CurrencyIn: 'RUB',
    OutSum: '100.05',
    TrsId: billId,
  });
  /** What would alert somebody: reviews and events would be in the ledger, everything else in the log. */
  const alarms = () => shop.logs.lines.filter((line) => /^(warn|error|fatal) /.test(line));
  const callbacksOf = async (billId: string) =>
    (await shop.ledger()).callbacks.filter((callback) => callback.billId === billId);

  test('a forged SUCCESS without a digest changes nothing', async () => {
    const order = await shop.buy();
    const nothingChanged = await shop.watch();
    expect(await forge(claims(order))).toEqual([200, 'OK']);
    await nothingChanged();
    expect(await callbacksOf(order.billId)).toMatchObject([
      { digest: 'absent', status: 'SUCCESS', outcome: 'unconfirmed', pending: false },
    ]);
  });

  test('a forged SUCCESS with a digest of zeros changes nothing', async () => {
    const order = await shop.buy();
    const nothingChanged = await shop.watch();
    expect(await forge({ ...claims(order), SignatureValue: '0'.repeat(32) })).toEqual([200, 'OK']);
    await nothingChanged();
    expect(await callbacksOf(order.billId)).toMatchObject([{ digest: 'mismatch', outcome: 'unconfirmed' }]);
  });

  test.each([
    ['JSON', postJson],
    ['a form', (url: string, fields: unknown) => sendForm(url, fields as Record<string, string>)],
  ])(
    "a forged SUCCESS with the digest of the payer's own Fail redirect changes nothing, as %s",
    async (_name, send) => {
      const order = await shop.buy();
      const { fields } = await shop.pay(order.billId, { outcome: 'fail' });
      const nothingChanged = await shop.watch();
      const forged = { ...claims(order), OutSum: fields.OutSum!, SignatureValue: fields.SignatureValue! };
      expect(forged).toEqual(postbackFields({ InvId: order.id, OutSum: '100.05', TrsId: order.billId }, TOKENS.main));
      expect(await forge(forged, send)).toEqual([200, 'OK']);
      await nothingChanged();
      expect(await shop.order(order.id)).toMatchObject({ status: 'not_paid', paidAmount: null });
      expect(await callbacksOf(order.billId)).toContainEqual(
        expect.objectContaining({ digest: 'match', status: 'SUCCESS', outcome: 'unconfirmed' }),
      );
    },
  );

  test('forged postbacks log no warning and no error', () => {
    expect(alarms()).toEqual([]);
    expect(shop.logs.lines).not.toEqual([]);
  });
});
