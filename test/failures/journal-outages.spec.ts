import { afterEach, describe, expect, test } from '@jest/globals';
import { PaymentCallbacks } from 'nestjs-payment-acceptance/callbacks';
import { Database } from '../../libs/payment-acceptance/src/database/database.js';
import { postJson } from '../support/http.js';
import { bill, count, dropped, fields, harness, post, rows, start, together } from './support/journal.js';

describe('storing callbacks while the database does not answer', () => {
  afterEach(() => harness.close());

  const LOCK = 'LOCK TABLE payment_acceptance.callback IN ACCESS EXCLUSIVE MODE';

  test('callbacks fail once their time is over if the table is locked, and do not hold up later ones', async () => {
    await start({ storeTimeoutMs: 300 });
    const billId = await bill('o');
    const runner = harness.host.dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.query(LOCK);
    expect(await together(5, () => post(billId))).toEqual(Array(5).fill(503));
    await runner.rollbackTransaction();
    await runner.release();
    expect(await together(5, () => post(billId))).toEqual(Array(5).fill(200));
    // What was answered 503 may have been stored; what was answered 200 has been.
    expect((await rows()).length).toBeGreaterThanOrEqual(5);
  });

  test('callbacks beyond a full queue get 503 with Retry-After, are counted, and are taken later', async () => {
    await start({ maxQueued: 10 });
    const billId = await bill('o');
    const runner = harness.host.dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.query(LOCK);
    let open = 0;
    const answers = together(30, async () => {
      const answer = await postJson(`${harness.host.url}/postback/payment`, fields(billId));
      if (answer.status === 503 && (open += 1) === 20) await runner.rollbackTransaction();
      return [answer.status, answer.headers.get('retry-after')];
    });
    const told = (await answers).map(String).sort();
    expect(told).toEqual([...Array<string>(10).fill('200,'), ...Array<string>(20).fill('503,1')]);
    await runner.release();
    expect(await dropped()).toMatchObject({ delayedCallbacks: 20 });
    expect(await post(billId)).toBe(200);
  });

  test('in-process callbacks that are refused and repeated at once do not block the event loop', async () => {
    await start();
    const { app } = await harness.start();
    const callbacks = app.get(PaymentCallbacks);
    const { source } = app.get(Database);
    const looked = new Promise<void>((resolve) => {
      source.connect = () => (resolve(), Promise.reject(new Error('The server is gone.')));
    });
    let answers = 0;
    let turn = false;
    await together(40, async (index) => {
      // One half arrives while the other half's statement runs, so that some always wait.
      if (index >= 20) await looked;
      for (; !turn && answers < 20_000; answers += 1) {
        if (answers === 1_000) setImmediate(() => (turn = true));
        await callbacks.postback(undefined, fields(`unknown-${index}`));
      }
    });
    expect(turn).toBe(true);
  });

  test('a shutdown answers every callback that has arrived before the data source is closed', async () => {
    await start({ maxPerBill: 1_000 });
    const billId = await bill('o');
    const instance = await harness.start();
    const callbacks = instance.app.get(PaymentCallbacks);
    const answers = together(300, () => callbacks.postback(undefined, fields(billId)));
    await instance.app.close();
    expect(await answers).toEqual(Array(300).fill({ kind: 'stored', status: 200 }));
    expect(await rows()).toHaveLength(300);
  });

  test('a shutdown ends although callbacks keep coming, and answers each of them', async () => {
    await start({ maxUnmatched: 100_000 });
    const instance = await harness.start();
    const callbacks = instance.app.get(PaymentCallbacks);
    const statuses: number[] = [];
    let coming = true;
    let begun = (): void => undefined;
    const many = new Promise<void>((resolve) => (begun = resolve));
    // For unknown bills: they are stored singly, so that some always wait.
    const senders = together(20, async (index) => {
      while (coming) {
        statuses.push((await callbacks.postback(undefined, fields(`unknown-${index}`))).status);
        if (statuses.length > 100) begun();
      }
    });
    await many;
    await instance.app.close();
    coming = false;
    await senders;
    expect(count(statuses, 200) + count(statuses, 503)).toBe(statuses.length);
    expect((await rows()).length).toBeGreaterThanOrEqual(count(statuses, 200));
  });
});
