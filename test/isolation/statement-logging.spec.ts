import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  OnPaymentSucceeded,
  PaymentWorkers,
  type PaymentEventContext,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { PaymentHealthIndicator, PaymentOperations } from 'nestjs-payment-acceptance/operations';
import type { Logger, EntityManager } from 'typeorm';
import { Effect, startHarness, type Harness } from '../support/harness.js';
import { EffectWriter } from '../support/orders.js';
import { pay } from '../support/pay.js';

/** A host's TypeORM logger. */
class Collector implements Logger {
  private lines: string[] = [];
  readonly logQuery = (text: string): void => void this.lines.push(text);
  readonly logQueryError = (_error: string | Error, text: string): void => void this.lines.push(`failed: ${text}`);
  readonly logQuerySlow = (_ms: number, text: string): void => void this.lines.push(`slow: ${text}`);
  readonly logSchemaBuild = (): void => undefined;
  readonly logMigration = (): void => undefined;
  readonly log = (): void => undefined;

  /** The lines since the last call. */
  take(): string[] {
    const { lines } = this;
    this.lines = [];
    return lines;
  }
}

@Injectable()
class NestedWriter {
  @OnPaymentSucceeded({ consumer: 'orders' })
  async take(
    { name, paymentId, orderId }: PaymentSucceededEvent,
    { manager }: PaymentEventContext<EntityManager>,
  ): Promise<void> {
    await manager.transaction((inner) => inner.insert(Effect, { consumer: 'orders', event: name, paymentId, orderId }));
  }
}

/** A statement on a table of the tests' host. */
const OF_HOST = /(INTO|FROM) ["`]effect["`]/;

describe("a host's TypeORM logging", () => {
  let harness: Harness;
  afterEach(() => harness.close());

  async function idle(): Promise<void> {
    const { checks, deliveries, inquiries, retention } = harness.host.app.get(PaymentWorkers);
    for (const worker of [checks, deliveries, inquiries, retention]) await worker.runOnce();
    await harness.host.app.get(PaymentHealthIndicator).isHealthy('payments');
    await harness.host.app.get(PaymentOperations).stats();
  }

  test("TypeORM's logging shows the host's statements, also in handlers, and none of the module's", async () => {
    const logger = new Collector();
    harness = await startHarness({ logger, providers: [EffectWriter] });
    expect(logger.take().filter((line) => line.includes('payment_acceptance'))).toEqual([]);

    await idle();
    expect(logger.take()).toEqual([]);

    await pay(harness, 'order-1');
    expect(logger.take()).toEqual([]);
    await harness.settle();
    const handled = logger.take();
    expect(handled.filter((line) => !OF_HOST.test(line))).toEqual([]);
    expect(handled).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^INSERT INTO ["`]effect/),
        expect.stringMatching(/^slow: INSERT INTO ["`]effect/),
      ]),
    );

    expect(await harness.effects()).toHaveLength(1);
    await expect(harness.host.dataSource.query('SELECT nothing FROM nowhere')).rejects.toThrow();
    expect(logger.take()).toEqual(
      expect.arrayContaining([expect.stringMatching(/^SELECT .*effect/), 'failed: SELECT nothing FROM nowhere']),
    );
  });

  test("TypeORM's logging shows begin and end of the host's own transactions, also within handlers", async () => {
    const logger = new Collector();
    harness = await startHarness({ logger, providers: [NestedWriter] });
    const shown = () => logger.take().filter((line) => !line.startsWith('slow: '));
    await pay(harness, 'order-1');
    shown();
    await harness.settle();
    expect(shown()).toEqual(['SAVEPOINT typeorm_1', expect.stringMatching(OF_HOST), 'RELEASE SAVEPOINT typeorm_1']);
    const effect = { consumer: 'host', event: 'e', paymentId: 'p', orderId: 'o' };
    await harness.host.dataSource.transaction((manager) => manager.insert(Effect, effect));
    expect(shown()).toEqual(['START TRANSACTION', expect.stringMatching(OF_HOST), 'COMMIT']);
  });
});
