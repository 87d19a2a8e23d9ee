import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ONE_ADAPTER } from '../support/adapters.js';
import type { Harness } from '../support/harness.js';
import { billState, recordedActions, startConsole } from './support/desk.js';
import { Operator } from './support/operator.js';
import { Bookkeeper, forget, record, type Records } from './support/records.js';

describe.each(ONE_ADAPTER)('actions, on %s', (adapter) => {
  let harness: Harness;
  let main: Records;
  let operator: Operator;
  beforeAll(async () => {
    harness = await startConsole(adapter);
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    await forget(harness);
    main = await record(harness, 'main');
    operator = new Operator(`${harness.host.url}/payment-console`, { 'x-user': 'ann' });
  });

  const actions = () => recordedActions(harness);
  const stateOf = (intentId: string) => billState(harness, intentId);

  test('a review is accepted: asked first, done, recorded, and shown on the bill', async () => {
    const asked = await operator.open(`actions/accept-review/${main.review}`);
    expect(asked.text).toContain('Accept the review of order main-short?');
    expect(asked.text).toContain('the payment counts. Its payment.succeeded is emitted');
    expect(await actions()).toEqual([]);
    const done = await operator.confirm(`actions/accept-review/${main.review}`, { note: 'a coin was missing' });
    expect(done.text).toContain('The review was accepted. See the bill');
    expect(await actions()).toEqual([
      {
        operator: 'ann',
        action: 'accept-review',
        target: main.review,
        detail: { note: 'a coin was missing', reason: 'underpaid', paymentId: expect.any(String) },
      },
    ]);
    expect(await stateOf(main.short)).toBe('PAID');
    await harness.settle();
    expect(await harness.effects()).toMatchObject([{ orderId: 'main-paid' }, { orderId: 'main-short' }]);
    const { text } = await operator.open(`bills/${main.short}`);
    expect(text).toMatch(/ann accepted the review underpaid “a coin was missing”/);
    const again = await operator.open(`actions/dismiss-review/${main.review}`);
    expect([again.status, again.text]).toEqual([
      409,
      expect.stringContaining('The review was accepted by ann already.'),
    ]);
  });

  test('a review is dismissed, and nothing else happens', async () => {
    await operator.confirm(`actions/dismiss-review/${main.review}`);
    expect(await actions()).toMatchObject([{ action: 'dismiss-review', target: main.review, detail: { note: '' } }]);
    expect(await stateOf(main.short)).toBe('OPEN');
  });

  test('a review without a usable amount asks for one, and takes no other text for it', async () => {
    const { detail } = (await harness.host.ledger()).reviews.find(({ id }) => id === main.review)!;
    const without = { ...detail, listed: { ...(detail as { listed: object }).listed, amount: null } };
    await harness.host.dataSource.query(`UPDATE payment_acceptance.review SET detail = $1`, [JSON.stringify(without)]);
    const asked = await operator.open(`actions/accept-review/${main.review}`);
    expect(asked.text).toContain('Amount that counts, in RUB The service states none that can be used.');
    for (const amount of ['1,5', 'much', '100.051']) {
      const { status, text, html } = await operator.submit(asked, { amount, note: 'found' });
      expect([status, text]).toEqual([400, expect.stringContaining(`Nothing was changed. "${amount}" is no amount.`)]);
      expect(html).toContain('value="found"');
    }
    for (const amount of ['', '0', '-1']) {
      const { status, text } = await operator.submit(asked, { amount });
      expect([status, text]).toEqual([409, expect.stringContaining('The service states no usable amount in RUB')]);
    }
    expect(await actions()).toEqual([]);
    await operator.confirm(`actions/accept-review/${main.review}`, { amount: '98.50' });
    const { events } = await harness.host.ledger();
    expect(events).toContainEqual(expect.objectContaining({ name: 'payment.succeeded', orderId: 'main-short' }));
  });

  test('a dead letter is replayed once its cause is gone', async () => {
    harness.host.app.get(Bookkeeper).mended = true;
    const done = await operator.confirm(`actions/replay/${main.deadLetter}`, { note: 'order made' });
    expect(done.text).toContain('1 dead letter is due again.');
    expect(done.text).toContain('There are no dead letters.');
    await harness.settle();
    expect(await harness.effects()).toMatchObject([{ orderId: 'main-paid' }, { orderId: 'main-dead' }]);
    expect(await actions()).toEqual([
      {
        operator: 'ann',
        action: 'replay',
        target: main.deadLetter,
        detail: { filter: { deliveryId: main.deadLetter }, note: 'order made' },
      },
    ]);
    expect((await operator.open(`bills/${main.dead}`)).text).toContain(
      `ann replayed dead letter ${main.deadLetter} “order made”`,
    );
    const again = await operator.open(`actions/replay/${main.deadLetter}`);
    expect([again.status, again.text]).toEqual([409, expect.stringContaining('it was replayed already')]);
  });

  test('dead letters that fit a filter are replayed, and no others', async () => {
    const eu = await record(harness, 'eu');
    const asked = await operator.open('actions/replay/all?shop=eu&consumer=orders');
    expect(asked.text).toContain('Replay 1 dead letter?');
    expect(asked.text).toContain('You replay the dead letters of orders, of shop eu');
    await operator.confirm('actions/replay/all?shop=eu&consumer=orders');
    expect((await operator.open(`bills/${eu.dead}`)).text).toContain('waits for orders');
    expect((await operator.open(`bills/${main.dead}`)).text).toContain('dead letter of orders');
    expect(await actions()).toMatchObject([{ detail: { filter: { shop: 'eu', consumer: 'orders' } } }]);
  });

  test('an unknown outcome is attached to its bill, checked, and settles', async () => {
    const { lost, lostBill } = main;
    const done = await operator.confirm(`actions/attach-bill/${lost}`, {
      billId: lostBill,
      linkPageUrl: `https://pay.example/${lostBill}`,
      note: 'found it',
    });
    expect(done.text).toContain('The bill was attached. It is checked at once');
    await harness.settle();
    expect(await stateOf(lost)).toBe('PAID');
    expect(await actions()).toEqual([
      {
        operator: 'ann',
        action: 'attach-bill',
        target: lost,
        detail: { serviceBillId: lostBill, note: 'found it' },
      },
    ]);
  });

  test.each<[string, (records: Records) => Record<string, string>, number, string]>([
    ['an id that the service does not know', () => ({ billId: 'nothing' }), 409, 'the service does not find the bill'],
    ['an id with a space', () => ({ billId: 'a b' }), 400, 'A bill id has 1 to 128 visible characters'],
    ['no id', () => ({}), 400, 'A bill id has 1 to 128 visible characters'],
    [
      'an address that is no page',
      ({ lostBill }) => ({ billId: lostBill, linkPageUrl: 'javascript:alert(1)' }),
      409,
      'must be http or https',
    ],
  ])('to attach %s is refused, and says why', async (_name, fields, status, said) => {
    const asked = await operator.open(`actions/attach-bill/${main.lost}`);
    const answer = await operator.submit(asked, fields(main));
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(said)]);
    expect(answer.text).toContain('Nothing was changed.');
    expect([await stateOf(main.lost), await actions()]).toEqual(['UNKNOWN', []]);
  });

  test('the bill of another order is refused', async () => {
    const bill = (await harness.host.ledger()).bills.find(({ orderId }) => orderId === 'main-paid')!.billId!;
    const answer = await operator.submit(await operator.open(`actions/attach-bill/${main.lost}`), { billId: bill });
    expect([answer.status, answer.text]).toEqual([409, expect.stringContaining('already belongs to another order')]);
  });

  test('an unknown outcome is voided, once', async () => {
    const asked = await operator.open(`actions/void-bill/${main.lost}`);
    await operator.confirm(`actions/void-bill/${main.lost}`, { note: 'none there' });
    expect(await stateOf(main.lost)).toBe('VOIDED');
    const again = await operator.submit(asked);
    expect([again.status, again.text]).toEqual([409, expect.stringContaining('it is voided')]);
    expect(await actions()).toMatchObject([{ action: 'void-bill', detail: { note: 'none there' } }]);
  });

  test('the log has who did what, the newest first, with the way to the bill', async () => {
    await operator.confirm(`actions/void-bill/${main.lost}`, { note: 'none there' });
    await operator.confirm(`actions/replay/${main.deadLetter}`);
    await operator.confirm(`actions/dismiss-review/${main.review}`);
    const { text, html } = await operator.open('log');
    expect(text).toMatch(
      /ann dismissed the review underpaid main-short .*ann replayed dead letter \d+ main-dead .*ann voided the unknown outcome main-lost none there/,
    );
    for (const id of [main.short, main.dead, main.lost]) expect(html).toContain(`bills/${id}`);
  });
});
