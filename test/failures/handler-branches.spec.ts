import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate } from 'node:timers/promises';
import { OnPaymentSucceeded, type PaymentEventContext, type PaymentSucceededEvent } from 'nestjs-payment-acceptance';
import type { EntityManager, EntitySubscriberInterface, TransactionCommitEvent } from 'typeorm';
import { Effect, startHarness, type Harness } from '../support/harness.js';

let harness: Harness;

describe('handlers with concurrent statements', () => {
  afterEach(() => harness.close());

  type Work = (manager: EntityManager, write: (what: string) => Promise<unknown>, run: number) => Promise<void>;

  /** Pays a bill whose only handler runs this; returns the delivery as another instance sees it. */
  async function paidFor(work: Work, subscriber?: EntitySubscriberInterface) {
    let runs = 0;
    @Injectable()
    class Handler {
      @OnPaymentSucceeded({ consumer: 'orders' })
      async take(
        { name: event, paymentId, orderId }: PaymentSucceededEvent,
        { manager }: PaymentEventContext<EntityManager>,
      ) {
        runs += 1;
        const write = (consumer: string) => manager.insert(Effect, { event, paymentId, orderId, consumer });
        await work(manager, write, runs);
      }
    }
    harness = await startHarness({ providers: [Handler] });
    const other = await harness.start({ providers: [] });
    if (subscriber) harness.host.dataSource.subscribers.push(subscriber);
    const { billId } = await harness.host.payments.createBill({ orderId: 'branches', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    await harness.host.confirmer.runOnce();
    const effects = async () =>
      (await other.dataSource.getRepository(Effect).find()).map(({ consumer }) => consumer).sort();
    const delivery = async () => (await other.ledger()).events[0]!.deliveries[0]!;
    return { effects, delivery };
  }

  const away = async (): Promise<never> => {
    await setImmediate();
    throw new Error('the ERP is away');
  };

  describe('a handler with two branches, one of which fails', () => {
    test.each<[string, Work]>([
      ['in the transaction', (manager, write) => afterSleep(manager, write)],
      ['in a nested one', (manager, write) => manager.transaction((nested) => afterSleep(nested, write))],
    ])('nothing of a handler is kept if one branch fails while another writes %s', async (_where, branch) => {
      const branches: Promise<void>[] = [];
      const { effects, delivery } = await paidFor(async (manager, write, run) => {
        branches.push(branch(manager, () => write(`run ${run}`), run));
        await Promise.all([...branches.slice(-1), run === 1 ? away() : undefined]);
      });
      expect(await harness.host.deliveries.runOnce()).toBe(1);
      await Promise.allSettled(branches);
      expect(await delivery()).toMatchObject({
        state: 'PENDING',
        lastError: expect.stringContaining('the ERP is away'),
      });
      expect(await effects()).toEqual([]);
      harness.clock.advance(120_000);
      expect(await harness.host.deliveries.runOnce()).toBe(1);
      expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 2 });
      expect(await effects()).toEqual(['run 2']);
    });

    test('a nested transaction that a handler leaves open fails the attempt, whatever hooks subscribers have', async () => {
      const subscriber: EntitySubscriberInterface = { afterTransactionCommit: () => undefined };
      const { effects, delivery } = await paidFor(async (manager, write) => {
        await write('first');
        await new Promise<void>((begun) => {
          void manager.transaction(() => {
            begun();
            return new Promise(() => undefined);
          });
        });
      }, subscriber);
      await harness.host.deliveries.runOnce();
      const lastError = expect.stringContaining('continued after it returned');
      expect([await delivery(), await effects()]).toMatchObject([{ state: 'PENDING', lastError }, []]);
    });

    test("a subscriber's hooks are told of the rollback after a handler has failed", async () => {
      const hooks: string[] = [];
      const subscriber: EntitySubscriberInterface = {
        beforeTransactionRollback: () => void hooks.push('before'),
        afterTransactionRollback: () => void hooks.push('after'),
      };
      const { effects } = await paidFor(async (_manager, write) => {
        await write('undone');
        await away();
      }, subscriber);
      await harness.host.deliveries.runOnce();
      expect([hooks, await effects()]).toEqual([['before', 'after'], []]);
    });

    test('a branch that continues after its handler has failed is told that its statements are rejected', async () => {
      let branch: Promise<unknown> | undefined;
      const { effects } = await paidFor(async (manager, write) => {
        branch = manager
          .query('SELECT pg_sleep(0.3)')
          .catch(() => undefined)
          .then(() => write('too late'));
        await Promise.all([branch, away()]);
      });
      await harness.host.deliveries.runOnce();
      await expect(branch).rejects.toThrow("This manager's transaction has ended, so the statement was rejected.");
      expect(await effects()).toEqual([]);
    });

    test('a nested transaction left open by a failed handler is undone with the rest', async () => {
      let letGo = (): void => undefined;
      const gate = new Promise<void>((resolve) => (letGo = resolve));
      let branch: Promise<unknown> | undefined;
      const { effects, delivery } = await paidFor(async (manager, write) => {
        const begun = new Promise<void>((resolve) => {
          branch = manager.transaction(async () => {
            await write('nested');
            resolve();
            await gate;
          });
        });
        await begun;
        throw new Error('half-way');
      });
      await harness.host.deliveries.runOnce();
      expect(await delivery()).toMatchObject({ state: 'PENDING', lastError: expect.stringContaining('half-way') });
      letGo();
      await expect(branch).rejects.toThrow('has ended');
      expect(await effects()).toEqual([]);
    });
  });

  const afterSleep = async (manager: EntityManager, write: (what: string) => Promise<unknown>): Promise<void> => {
    await manager.query('SELECT pg_sleep(0.3)');
    await write('');
  };

  describe('a handler that returns before its statements have ended', () => {
    test('a statement that a handler has not awaited is waited for, and kept', async () => {
      let branch: Promise<unknown> | undefined;
      const { effects, delivery } = await paidFor((_manager, write) => {
        branch = write('not awaited');
        return Promise.resolve();
      });
      await harness.host.deliveries.runOnce();
      await branch;
      expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 1 });
      expect(await effects()).toEqual(['not awaited']);
    });

    test('a handler that sends statements after it has returned has not done its work, and nothing of it is kept', async () => {
      let branch: Promise<unknown> | undefined;
      const { effects, delivery } = await paidFor(async (manager, write) => {
        await write('first');
        branch = afterSleep(manager, write);
        branch.catch(() => undefined);
      });
      await harness.host.deliveries.runOnce();
      await expect(branch).rejects.toThrow('has ended');
      const lastError = expect.stringContaining('continued after it returned');
      expect(await delivery()).toMatchObject({ state: 'PENDING', attempts: 1, lastError });
      expect(await effects()).toEqual([]);
    });
  });

  test('without subscribers that need it, a handler starts no AsyncLocalStorage context', async () => {
    const followed = jest.spyOn(AsyncLocalStorage.prototype, 'run');
    const { effects } = await paidFor(async (_manager, write) => {
      await write('handler');
    });
    await harness.host.deliveries.runOnce();
    expect(await effects()).toEqual(['handler']);
    expect(followed).not.toHaveBeenCalled();
    followed.mockRestore();
  });

  /** Holds a handler's transaction after its commit and before its release. */
  class AtCommit implements EntitySubscriberInterface {
    letGo = (): void => undefined;
    private begun = (): void => undefined;
    private readonly gate = new Promise<void>((resolve) => (this.letGo = resolve));
    readonly committed = new Promise<void>((resolve) => (this.begun = resolve));

    constructor(private readonly before: (manager: EntityManager) => Promise<unknown>) {}

    async beforeTransactionCommit({ manager, queryRunner }: TransactionCommitEvent): Promise<void> {
      if (queryRunner.data.handler) await this.before(manager);
    }

    async afterTransactionCommit({ queryRunner }: TransactionCommitEvent): Promise<void> {
      if (!queryRunner.data.handler) return;
      this.begun();
      await this.gate;
    }
  }

  test("after COMMIT a handler's manager rejects every statement, and the host's subscribers write before it", async () => {
    const effect = { event: 'e', paymentId: 'p', orderId: 'o' };
    const subscriber = new AtCommit((manager) => manager.insert(Effect, { ...effect, consumer: 'subscriber' }));
    let manager: EntityManager | undefined;
    const { effects, delivery } = await paidFor(async (given, write) => {
      manager = given;
      given.queryRunner!.data.handler = true;
      await write('handler');
    }, subscriber);
    const attempt = harness.host.deliveries.runOnce();
    await subscriber.committed;
    const late = { ...effect, consumer: 'late' };
    const given = manager!;
    const runner = given.queryRunner!;
    const ways: Record<string, () => Promise<unknown>> = {
      query: () => given.query('SELECT 1'),
      insert: () => given.insert(Effect, late),
      save: () => given.save(given.create(Effect, late)),
      repository: () => given.getRepository(Effect).save(late),
      builder: () => given.createQueryBuilder().insert().into(Effect).values(late).execute(),
      find: () => given.find(Effect),
      transaction: () => given.transaction((nested) => nested.insert(Effect, late)),
      start: () => runner.startTransaction(),
      statement: () => runner.query('SELECT 1'),
    };
    for (const [way, take] of Object.entries(ways)) {
      const failure = await take().then(
        () => 'done',
        (error: unknown) => String(error),
      );
      expect([way, failure]).toEqual([way, expect.stringContaining("This manager's transaction has ended")]);
    }
    subscriber.letGo();
    expect(await attempt).toBe(1);
    expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 1 });
    expect(await effects()).toEqual(['handler', 'subscriber']);
  });
});
