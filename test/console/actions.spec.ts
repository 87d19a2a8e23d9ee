import { describe, expect, test } from '@jest/globals';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { PaymentProbe } from 'nestjs-payment-acceptance/testing';
import { ONE_ADAPTER } from '../support/adapters.js';
import { addEvents, MADE } from '../support/many-events.js';
import { Desk } from './support/desk.js';
import { Bookkeeper, record, type Records } from './support/records.js';

describe.each(ONE_ADAPTER)('actions, on %s', (adapter) => {
  const desk = new Desk(adapter);

  test('accepting a review is confirmed first, then done, recorded, and shown on the bill', async () => {
    const asked = await desk.operator.open(`actions/accept-review/${desk.main.review}`);
    expect(asked.text).toContain('Accept the review of order main-short?');
    expect(asked.text).toContain('the payment counts. Its payment.succeeded is emitted');
    expect(await desk.actions()).toEqual([]);
    const done = await desk.operator.confirm(`actions/accept-review/${desk.main.review}`, {
      note: 'a coin was missing',
    });
    expect(done.text).toContain('The review was accepted. See the bill');
    expect(await desk.actions()).toEqual([
      {
        operator: 'ann',
        action: 'accept-review',
        target: desk.main.review,
        detail: { note: 'a coin was missing', amount: '99.00', reason: 'underpaid', paymentId: expect.any(String) },
      },
    ]);
    expect(await desk.stateOf(desk.main.short)).toBe('PAID');
    await desk.harness.settle();
    expect(await desk.harness.effects()).toMatchObject([{ orderId: 'main-paid' }, { orderId: 'main-short' }]);
    const { text } = await desk.operator.open(`bills/${desk.main.short}`);
    expect(text).toMatch(/ann accepted the review underpaid: 99\.00 counts “a coin was missing”/);
    const again = await desk.operator.open(`actions/dismiss-review/${desk.main.review}`);
    expect([again.status, again.text]).toEqual([
      409,
      expect.stringContaining('The review was already accepted by ann.'),
    ]);
  });

  test('an action whose COMMIT is not answered is said to be unknown, since it may have been done', async () => {
    const probe = desk.harness.host.app.get(PaymentProbe);
    const asked = await desk.operator.open(`actions/dismiss-review/${desk.main.review}`);
    probe.reached = (point) => {
      if (point === 'after COMMIT') throw new Error('the server is gone');
    };
    const { status, text } = await desk.operator.submit(asked, {});
    probe.reached = () => undefined;
    expect([status, text]).toEqual([503, expect.stringContaining('It is not known whether this was done')]);
    expect(await desk.actions()).toHaveLength(1);
  });

  test('a review is dismissed, and nothing else happens', async () => {
    await desk.operator.confirm(`actions/dismiss-review/${desk.main.review}`);
    expect(await desk.actions()).toMatchObject([
      { action: 'dismiss-review', target: desk.main.review, detail: { note: '' } },
    ]);
    expect(await desk.stateOf(desk.main.short)).toBe('OPEN');
  });

  test('accepting a review without a usable amount asks for one, and takes no other text', async () => {
    const { detail } = (await desk.harness.host.ledger()).reviews.find(({ id }) => id === desk.main.review)!;
    const without = { ...detail, listed: { ...(detail as { listed: object }).listed, amount: null } };
    await desk.harness.host.dataSource.query(`UPDATE payment_acceptance.review SET detail = $1`, [
      JSON.stringify(without),
    ]);
    const asked = await desk.operator.open(`actions/accept-review/${desk.main.review}`);
    expect(asked.text).toContain('Amount that counts, in RUB The service reports no usable amount.');
    for (const amount of ['1,5', 'much', '100.051', '7.000', '1e1', '-1']) {
      const { status, text, html } = await desk.operator.submit(asked, { amount, note: 'found' });
      expect([status, text]).toEqual([
        400,
        expect.stringContaining(`Nothing was changed. "${amount}" is not an amount.`),
      ]);
      expect(html).toContain('value="found"');
    }
    for (const amount of ['', '0']) {
      const { status, text } = await desk.operator.submit(asked, { amount });
      expect([status, text]).toEqual([409, expect.stringContaining('The service states no usable amount in RUB')]);
    }
    expect(await desk.actions()).toEqual([]);
    await desk.operator.confirm(`actions/accept-review/${desk.main.review}`, { amount: '98.50' });
    const { events } = await desk.harness.host.ledger();
    expect(events).toContainEqual(expect.objectContaining({ name: 'payment.succeeded', orderId: 'main-short' }));
  });

  test('a dead letter is replayed once its cause is gone', async () => {
    desk.harness.host.app.get(Bookkeeper).mended = true;
    const done = await desk.operator.confirm(`actions/replay/${desk.main.deadLetter}`, { note: 'order made' });
    expect(done.text).toContain('1 dead letter is being retried.');
    expect(done.text).toContain('There are no dead letters.');
    await desk.harness.settle();
    expect(await desk.harness.effects()).toMatchObject([{ orderId: 'main-paid' }, { orderId: 'main-dead' }]);
    expect(await desk.actions()).toEqual([
      {
        operator: 'ann',
        action: 'replay',
        target: desk.main.dead,
        detail: { filter: { deliveryId: desk.main.deadLetter }, note: 'order made', count: 1 },
      },
    ]);
    expect((await desk.operator.open(`bills/${desk.main.dead}`)).text).toContain(
      `ann replayed dead letter ${desk.main.deadLetter} “order made”`,
    );
    const again = await desk.operator.open(`actions/replay/${desk.main.deadLetter}`);
    expect([again.status, again.text]).toEqual([409, expect.stringContaining('it was already replayed')]);
  });

  test('a replay of all says how many deliveries that wait for their order are included', async () => {
    const { host } = desk.harness;
    await addEvents(desk.harness, 'main-dead', 3);
    await host.dataSource.query(
      `INSERT INTO payment_acceptance.delivery (event_id, event_name, seq, intent_id, consumer, state, due_at, behind, last_error_code)
       SELECT id, name, seq, intent_id, 'orders', 'PENDING', occurred_at, TRUE, 'order-not-found' FROM payment_acceptance.event WHERE ${MADE}`,
    );
    const asked = await desk.operator.open('actions/replay/all');
    expect(asked.text).toContain('Replay 1 dead letter?');
    expect(asked.text).toContain('3 deliveries whose order was not found will be retried with them');
    expect((await desk.operator.confirm('actions/replay/all')).text).toContain('4 deliveries are being retried.');
  });

  test('a delivery of past events is in the log, with its consumer', async () => {
    await desk.harness.host.app.get(PaymentOperations).deliverPastEvents({ consumer: 'orders' }, { operator: 'ann' });
    expect((await desk.operator.open('log')).text).toContain('delivered past events to orders');
  });

  test('a page address in capitals, which Express takes for the same, is shown or not found', async () => {
    expect([200, 404]).toContain((await desk.operator.open('Bills')).status);
  });

  test('a replay of many dead letters that breaks off says how many are done', async () => {
    const { host } = desk.harness;
    await addEvents(desk.harness, 'main-dead', 600);
    await host.dataSource.query(
      `INSERT INTO payment_acceptance.delivery (event_id, event_name, seq, intent_id, consumer, state, due_at, ended_at, behind)
       SELECT id, name, seq, intent_id, 'orders', 'DEAD', occurred_at, occurred_at, TRUE FROM payment_acceptance.event WHERE ${MADE}`,
    );
    const probe = host.app.get(PaymentProbe);
    probe.reached = (point) => {
      if (/^after UPDATE payment_acceptance[._]operator_action/.test(point)) throw new Error('the server is gone');
    };
    const { status, text } = await desk.operator.submit(await desk.operator.open('actions/replay/all'), {});
    probe.reached = () => undefined;
    expect([status, text]).toEqual([
      503,
      expect.stringContaining('The action stopped after 20 records; what was done stays done.'),
    ]);
    expect((await desk.operator.confirm('actions/replay/all')).text).toContain('581 dead letters are being retried.');
  });

  test('only the dead letters that match a filter are replayed', async () => {
    const eu = await record(desk.harness, 'eu');
    const asked = await desk.operator.open('actions/replay/all?shop=eu&consumer=orders');
    expect(asked.text).toContain('Replay 1 dead letter?');
    expect(asked.text).toContain('You are about to replay the dead letters with consumer orders, shop eu');
    await desk.operator.confirm('actions/replay/all?shop=eu&consumer=orders');
    expect((await desk.operator.open(`bills/${eu.dead}`)).text).toContain('pending for orders');
    expect((await desk.operator.open(`bills/${desk.main.dead}`)).text).toContain('dead letter of orders');
    expect(await desk.actions()).toMatchObject([{ detail: { filter: { shop: 'eu', consumer: 'orders' } } }]);
  });

  test('an unknown outcome is attached to its bill, checked, and settles', async () => {
    const { lost, lostBill } = desk.main;
    const done = await desk.operator.confirm(`actions/attach-bill/${lost}`, {
      billId: lostBill,
      linkPageUrl: `https://pay.example/${lostBill}`,
      note: 'found it',
    });
    expect(done.text).toContain('The bill was attached. It is checked at once');
    await desk.harness.settle();
    expect(await desk.stateOf(lost)).toBe('PAID');
    expect(await desk.actions()).toEqual([
      {
        operator: 'ann',
        action: 'attach-bill',
        target: lost,
        detail: { serviceBillId: lostBill, note: 'found it' },
      },
    ]);
  });

  test.each<[string, (records: Records) => Record<string, string>, number, string]>([
    ['an id that the service does not know', () => ({ billId: 'nothing' }), 409, 'the service cannot find the bill'],
    ['an id with a space', () => ({ billId: 'a b' }), 400, 'A bill id must be 1 to 128 visible characters'],
    ['no id', () => ({}), 400, 'A bill id must be 1 to 128 visible characters'],
    [
      'an address that is no page',
      ({ lostBill }) => ({ billId: lostBill, linkPageUrl: 'javascript:alert(1)' }),
      409,
      'must be http or https',
    ],
  ])('attaching %s is refused with the reason', async (_name, fields, status, said) => {
    const asked = await desk.operator.open(`actions/attach-bill/${desk.main.lost}`);
    const answer = await desk.operator.submit(asked, fields(desk.main));
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(said)]);
    expect(answer.text).toContain('Nothing was changed.');
    expect([await desk.stateOf(desk.main.lost), await desk.actions()]).toEqual(['UNKNOWN', []]);
  });

  test('attaching the bill of another order is refused', async () => {
    const bill = (await desk.harness.host.ledger()).bills.find(({ orderId }) => orderId === 'main-paid')!.billId!;
    const answer = await desk.operator.submit(await desk.operator.open(`actions/attach-bill/${desk.main.lost}`), {
      billId: bill,
    });
    expect([answer.status, answer.text]).toEqual([409, expect.stringContaining('already belongs to another order')]);
  });

  test('an unknown outcome is voided only once', async () => {
    const asked = await desk.operator.open(`actions/void-bill/${desk.main.lost}`);
    await desk.operator.confirm(`actions/void-bill/${desk.main.lost}`, { note: 'none there' });
    expect(await desk.stateOf(desk.main.lost)).toBe('VOIDED');
    const again = await desk.operator.submit(asked);
    expect([again.status, again.text]).toEqual([409, expect.stringContaining('it is voided')]);
    expect(await desk.actions()).toMatchObject([{ action: 'void-bill', detail: { note: 'none there' } }]);
  });

  test('the log has who did what, the newest first, with a link to the bill', async () => {
    await desk.operator.confirm(`actions/void-bill/${desk.main.lost}`, { note: 'none there' });
    await desk.operator.confirm(`actions/replay/${desk.main.deadLetter}`);
    await desk.operator.confirm(`actions/dismiss-review/${desk.main.review}`);
    const { text, html } = await desk.operator.open('log');
    expect(text).toMatch(
      /ann dismissed the review underpaid main-short .*ann replayed dead letter [0-9a-f-]{36} main-dead .*ann voided the unknown outcome main-lost none there/,
    );
    for (const id of [desk.main.short, desk.main.dead, desk.main.lost]) expect(html).toContain(`bills/${id}`);
  });
});
