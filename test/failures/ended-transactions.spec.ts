import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnPaymentSucceeded, type PaymentEventContext, type PaymentSucceededEvent } from 'nestjs-payment-acceptance';
import type { EntityManager } from 'typeorm';
import { ON_MARIADB } from '../support/database.js';
import { Effect, startHarness, type Harness } from '../support/harness.js';
import { pay } from '../support/pay.js';

/** Does something to the transaction of its first attempt, between two writes. */
@Injectable()
class Meddler {
  meddle: ((manager: EntityManager) => Promise<unknown>) | undefined;
  throws = false;

  @OnPaymentSucceeded({ consumer: 'orders' })
  async take(event: PaymentSucceededEvent, { manager, attempt }: PaymentEventContext<EntityManager>): Promise<void> {
    const { name, paymentId, orderId } = event;
    const write = (consumer: string) => manager.insert(Effect, { consumer, event: name, paymentId, orderId });
    await write(`before ${attempt}`);
    if (attempt === 1) {
      await this.meddle?.(manager);
      if (this.throws) throw new Error('the handler has failed');
    }
    await write(`after ${attempt}`);
  }
}

const send =
  (...statements: string[]) =>
  async (manager: EntityManager): Promise<void> => {
    for (const statement of statements) await manager.query(statement);
  };

describe('a transaction of a handler that is ended before the handler has returned', () => {
  let harness: Harness;
  afterEach(() => harness.close());

  async function run(meddle: Meddler['meddle'], throws = false): Promise<Meddler> {
    const meddler = Object.assign(new Meddler(), { meddle, throws });
    harness = await startHarness({ providers: [{ provide: Meddler, useValue: meddler }] });
    await pay(harness, 'ended');
    await harness.host.confirmer.runOnce();
    await harness.host.deliveries.runOnce();
    return meddler;
  }

  const delivery = async () => (await harness.host.ledger()).events[0]!.deliveries[0]!;
  const written = async () => (await harness.effects()).map(({ consumer }) => consumer);

  const ENDS: [string, string[], string[]][] = [
    ['COMMIT', ['COMMIT'], ['before 1', 'after 1']],
    ['ROLLBACK', ['ROLLBACK'], ['after 1']],
    ['COMMIT and a new one', ['COMMIT', ON_MARIADB ? 'START TRANSACTION' : 'BEGIN'], ['before 1']],
    ['ROLLBACK and a new one', ['ROLLBACK', ON_MARIADB ? 'START TRANSACTION' : 'BEGIN'], []],
    ...(ON_MARIADB
      ? ([['DDL', ['CREATE TABLE meddled (id int)'], ['before 1']]] as [string, string[], string[]][])
      : []),
  ];

  test.each(ENDS)(
    'a handler whose transaction is ended early by %s is not marked done, and is delivered again',
    async (_end, statements, stays) => {
      await run(send(...statements));
      expect(await delivery()).toMatchObject({ state: 'PENDING', attempts: 1 });
      expect((await delivery()).lastError).toMatch(/^HandlerTransactionEndedError: This handler's transaction ended/);
      // On MariaDB what follows the end is in a transaction of its own, since autocommit is off.
      const kept = ON_MARIADB ? stays.filter((each) => each !== 'after 1') : stays;
      expect(await written()).toEqual(kept);
      harness.clock.advance(60_000);
      await harness.settle();
      expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 2 });
      expect(await written()).toEqual([...kept, 'before 2', 'after 2']);
    },
  );

  test.each(ENDS)(
    'a handler whose transaction is ended early by %s and that then throws is not marked done',
    async (_end, statements) => {
      await run(send(...statements), true);
      expect(await delivery()).toMatchObject({
        state: 'PENDING',
        attempts: 1,
        lastError: 'Error: the handler has failed',
      });
    },
  );

  test('a handler that commits through its query runner is not marked done, and is delivered again', async () => {
    await run((manager) => manager.queryRunner!.commitTransaction());
    expect(await delivery()).toMatchObject({ state: 'PENDING', attempts: 1 });
    harness.clock.advance(60_000);
    await harness.settle();
    expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 2 });
  });

  test('a handler that keeps or rolls back savepoints of its own is marked done', async () => {
    await run(async (manager) => {
      await manager.transaction((nested) => nested.query('SELECT 1'));
      await manager.transaction(() => Promise.reject(new Error('alone'))).catch(() => undefined);
      await send('SAVEPOINT own', 'ROLLBACK TO SAVEPOINT own', 'RELEASE SAVEPOINT own')(manager);
    });
    expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 1 });
    expect(await written()).toEqual(['before 1', 'after 1']);
  });
});
