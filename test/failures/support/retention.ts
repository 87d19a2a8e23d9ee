import { jest } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  PaymentNonRetryableError,
  OnPaymentFailed,
  OnPaymentSucceeded,
  type PaymentFailedEvent,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import type { TestedOptions } from '../../support/options.js';
import { RetentionWorker } from '../../../libs/payment-acceptance/src/retention/retention.worker.js';
import { startHarness, type Harness } from '../../support/harness.js';

export const DAY = 24 * 3_600_000;

/** Fails events of the orders that it is told to refuse. */
export const refused = new Set<string>();
export const seen: (PaymentSucceededEvent | PaymentFailedEvent)[] = [];
@Injectable()
class Orders {
  @OnPaymentSucceeded({ consumer: 'orders' })
  @OnPaymentFailed({ consumer: 'orders' })
  take(event: PaymentSucceededEvent | PaymentFailedEvent): void {
    if (refused.has(event.orderId) && event.name === 'payment.failed') throw new PaymentNonRetryableError('not now');
    seen.push(event);
  }
}

/** Of the test that runs; see {@link open}. */
export let harness: Harness;
export let worker: RetentionWorker;

export async function open(retention: TestedOptions['retention'], more: TestedOptions = {}): Promise<void> {
  harness = await startHarness({ providers: [Orders], options: { ...more, retention } });
  worker = harness.host.app.get(RetentionWorker);
}

/** The matching rows of a table, as JSON. */
export const rows = async <T>(table: string, where = 'true'): Promise<T[]> =>
  (
    await harness.host.dataSource.query<{ row: T }[]>(
      `SELECT to_jsonb(t) AS row FROM payment_acceptance.${table} t WHERE ${where}`,
    )
  ).map(({ row }) => row);
export const count = async (table: string, where?: string): Promise<number> => (await rows(table, where)).length;

/** Runs batches until one finds nothing; returns their sizes. */
export async function removeAll(): Promise<number[]> {
  const sizes: number[] = [];
  for (;;) {
    const size = await worker.runOnce();
    if (size === 0) return sizes;
    sizes.push(size);
  }
}

export async function paid(orderId: string): Promise<{ orderId: string; billId: string }> {
  const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
  await harness.sandbox.pay(billId);
  await harness.settle();
  return { orderId, billId };
}

export async function close(): Promise<void> {
  jest.restoreAllMocks();
  refused.clear();
  seen.length = 0;
  await harness.close();
}
