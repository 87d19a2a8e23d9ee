import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Module } from '@nestjs/common';
import { PaymentUnknownShopError } from 'nestjs-payment-acceptance';
import { PaymentCallbacks } from 'nestjs-payment-acceptance/callbacks';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import fs from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BillInquiry } from '../../libs/payment-acceptance/src/settlement/bill-inquiry.js';
import { startHarness, type Harness } from '../support/harness.js';
import { postbackFields, postForm, postJson } from '../support/http.js';
import { EffectWriter } from '../support/orders.js';
import { CutOverController } from './support/cut-over.controller.js';

@Module({ controllers: [CutOverController] })
class CutOverModule {}

const DAY = 24 * 3_600_000;

describe('the controller of docs/migrating.md', () => {
  let harness: Harness;
  let older: Server;
  /** What the older handler received, and how it answers. */
  const received: Record<string, unknown>[] = [];
  let status = 200;

  beforeAll(async () => {
    older = createServer((request, response) => {
      let body = '';
      request.on('data', (part) => (body += String(part)));
      request.on('end', () => {
        const isJson = request.headers['content-type'] === 'application/json';
        const fields: unknown = isJson ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body));
        received.push(fields as Record<string, unknown>);
        response.writeHead(status, { location: '/login' }).end();
      });
    });
    await new Promise<void>((resolve) => older.listen(0, '127.0.0.1', resolve));
    process.env.OLD_POSTBACK_URL = `http://127.0.0.1:${(older.address() as AddressInfo).port}/`;
    harness = await startHarness({
      providers: [EffectWriter],
      imports: [{ module: CutOverModule }],
      extras: { routes: { postback: false } },
      rawBody: true,
    });
  });
  afterAll(async () => {
    delete process.env.OLD_POSTBACK_URL;
    await harness.close();
    older.close();
  });
  beforeEach(() => {
    received.length = 0;
    status = 200;
  });

  const url = () => `${harness.host.url}/postback/payment`;
  const postback = (TrsId: string) => postbackFields({ InvId: `order of ${TrsId}`, OutSum: '10.00', TrsId });
  const stored = async (billId: string) =>
    (await harness.host.ledger()).callbacks.filter(({ trsId }) => trsId === billId);

  test('the controller of docs/migrating.md is the one tested here', () => {
    const printed = /cut-over\.controller\.ts\n([^]*?)```/.exec(fs.readFileSync('docs/migrating.md', 'utf8'))![1];
    expect(fs.readFileSync('test/operations/support/cut-over.controller.ts', 'utf8')).toBe(printed);
  });

  test('the migration controller hands on postbacks of older bills with all fields, and stores nothing', async () => {
    const fields = { ...postback('old-1'), PayerEmail: 'payer@example.org' };
    const answers = [await postForm(url(), fields), await postJson(url(), fields)];
    expect(await Promise.all(answers.map(async (answer) => [answer.status, await answer.text()]))).toEqual(
      answers.map(() => [200, 'OK']),
    );
    expect(received).toEqual([fields, fields]);
    expect(await stored('old-1')).toEqual([]);
  });

  test('a paid bill of another system is not taken for a lost bill, and a lost one of ours is found', async () => {
    const sandboxBill = async (orderId: string) => {
      const { billId, intentId } = await harness.host.payments.createBill({ orderId, amount: '10' });
      const { dataSource } = harness.host;
      await dataSource.query(`DELETE FROM payment_acceptance.bill WHERE intent_id = $1`, [intentId]);
      await dataSource.query(`DELETE FROM payment_acceptance.shop_order WHERE order_id = $1`, [orderId]);
      return billId;
    };
    const [theirs, lost] = [await sandboxBill('theirs'), await sandboxBill('lost')];
    await harness.sandbox.pay(theirs);
    await harness.sandbox.settled();
    status = 404;
    await harness.sandbox.pay(lost);
    await harness.sandbox.settled();
    expect(received.map(({ TrsId }) => TrsId)).toEqual([theirs, lost]);
    harness.clock.advance(DAY);
    await harness.host.app.get(BillInquiry).runOnce();
    const operations = harness.host.app.get(PaymentOperations);
    expect((await operations.lostBills()).map(({ billId }) => billId)).toEqual([lost]);
  });

  test('the migration controller does not answer 200 to a body that it cannot hand on', async () => {
    const body = JSON.stringify(postback('old-3'));
    const answer = await fetch(url(), { method: 'POST', headers: { 'content-type': 'text/plain' }, body });
    expect([answer.status, received]).toEqual([500, []]);
  });

  test('the migration controller keeps postbacks of our own bills, which settle', async () => {
    const { billId } = await harness.host.payments.createBill({ orderId: 'ours', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.settle();
    expect(received).toEqual([]);
    expect(await harness.effects()).toMatchObject([{ orderId: 'ours' }]);
  });

  test("a postback before its creation's answer waits for the bill, if the older handler declines it", async () => {
    status = 404;
    const hold = harness.sandbox.holdAnswers('create');
    const creating = harness.host.payments.createBill({ orderId: 'early', amount: '10' });
    await hold.reached();
    const { id } = harness.sandbox.bills().find(({ orderId }) => orderId === 'early')!;
    await harness.sandbox.pay(id);
    await harness.sandbox.settled();
    expect(received.map(({ TrsId }) => TrsId)).toEqual([id]);
    hold.release();
    await creating;
    await harness.settle();
    expect(await stored(id)).toMatchObject([{ pending: false, outcome: 'confirmed' }]);
  });

  test('a shop that does not exist has no bills, and the controller is told', async () => {
    await expect(harness.host.app.get(PaymentCallbacks).isOurs('mian', 'x')).rejects.toThrow(PaymentUnknownShopError);
  });

  test('a postback is sent again while the older handler fails, and invalid ids cause no error', async () => {
    for (status of [503, 302]) expect((await postForm(url(), postback('old-2'))).status).toBe(500);
    status = 404;
    for (const TrsId of [undefined, null, 7, {}, '\0', 'x'.repeat(5_000)]) {
      const answer = await postJson(url(), { ...postback('made-up'), TrsId });
      expect([200, 400]).toContain(answer.status);
    }
  });
});
