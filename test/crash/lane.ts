import { Injectable } from '@nestjs/common';
import { OnEvent } from '@nestjs/event-emitter';
import {
  OnPaymentFailed,
  OnPaymentSucceeded,
  type PaymentEventContext,
  type PaymentFailedEvent,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { DataSource, type EntityManager } from 'typeorm';
import { optionsToJson } from '../support/options-json.mjs';
import { Effect, moduleOptions, startHarness, type Harness } from '../support/harness.js';
import { until } from '../support/until.js';

const DAY = 86_400_000;

/** Name of the killed processes' connections; on MariaDB every connection in a transaction counts as one of them. */
const VICTIM = 'killed';

/** What happens in the process: one successful payment, or also failures that occur without a kill. */
export type Journey = 'straight' | 'troubled';

/** Longer than every lease of the processes and the pause before a bill's first scheduled check. */
const PAST_LEASES_MS = 121_000;

const OPTIONS = {
  // One at a time, so that every process reaches the points in the same order.
  checks: { concurrency: 1 },
  deliveries: { concurrency: 1, timeoutMs: 5_000 },
  // Do not check again what an earlier process has paid.
  schedule: { openMs: [60_000], paidEveryMs: 300 * DAY, paidForMs: 900 * DAY, jitterPercent: 0 },
  callbacks: { resultWaitMs: 1 },
};

/** Does what the killed process would have done: the same consumers, in an instance that survives. */
@Injectable()
class Handlers {
  constructor(private readonly dataSource: DataSource) {}

  @OnPaymentSucceeded({ consumer: 'orders' })
  @OnPaymentFailed({ consumer: 'orders' })
  async durable(
    event: PaymentSucceededEvent | PaymentFailedEvent,
    { manager }: PaymentEventContext<EntityManager>,
  ): Promise<void> {
    const { name, paymentId, orderId } = event;
    await manager.insert(Effect, { consumer: 'orders', event: name, paymentId, orderId });
  }

  @OnEvent('payment.succeeded')
  async plain({ name, paymentId, orderId }: PaymentSucceededEvent): Promise<void> {
    await this.dataSource.getRepository(Effect).insert({ consumer: 'listener', event: name, paymentId, orderId });
  }
}

/** A service, a database and a surviving instance, for one process after another. */
export class Lane {
  private ahead = 0;

  private constructor(private readonly harness: Harness) {}

  static async open(): Promise<Lane> {
    return new Lane(await startHarness({ providers: [Handlers], options: OPTIONS }));
  }

  close(): Promise<void> {
    return this.harness.close();
  }

  /** The points of a journey without a kill, in order. */
  async points(journey: Journey): Promise<string[]> {
    const orderId = `undisturbed-${journey}`;
    const { code, output } = await this.run(journey, orderId);
    if (code !== 0) throw new Error(`The process ended with ${String(code)}.`);
    await this.expectRight(orderId);
    return JSON.parse(output) as string[];
  }

  /**
   * Waits until the server has noticed that the killed process is gone: until then its transaction stays open and holds
   * its locks, and everybody else skips the locked rows.
   */
  private async buried(): Promise<void> {
    await until(
      () =>
        this.harness.host.dataSource.query<{ pid: number }[]>(
          `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1`,
          [VICTIM],
        ),
      (backends) => backends.length === 0,
    );
  }

  /** Kills a process at a point, lets the surviving instance finish, and throws if the result is wrong. */
  async crash(journey: Journey, at: number): Promise<void> {
    const orderId = `killed-${journey}-at-${at}`;
    const { signal, output } = await this.run(journey, orderId, at);
    if (signal !== 'SIGKILL') throw new Error(`The process was not killed: it never came to this point.`);
    await this.buried();
    const acknowledged = this.harness.sandbox
      .bills()
      .filter((bill) => bill.orderId === orderId)
      .flatMap(({ id }) => this.harness.sandbox.bill(id).callbacks.filter(({ state }) => state === 'delivered'));
    const kept = (await this.harness.host.ledger()).callbacks.filter(({ kind, orderId: of }) => {
      return kind === 'postback' && of === orderId;
    });
    if (kept.length < acknowledged.length) throw new Error(`A postback was acknowledged and not stored (${output}).`);
    await this.expectRight(orderId);
  }

  private async run(journey: Journey, orderId: string, at?: number) {
    const child = spawn(process.execPath, ['test/support/crash-probe.mjs'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        NODE_OPTIONS: '',
        PGAPPNAME: VICTIM,
        DATABASE_URL: this.harness.databaseUrl,
        SANDBOX_URL: this.harness.sandboxUrl,
        ORDER_ID: orderId,
        JOURNEY: journey,
        CLOCK_AHEAD_MS: String(this.ahead),
        PAYMENT_OPTIONS: optionsToJson(moduleOptions(this.harness.sandboxUrl, OPTIONS)),
        ...(at !== undefined && { KILL_AT: String(at) }),
      },
    });
    const [output, [code, signal]] = await Promise.all([
      text(child.stdout),
      once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>,
    ]);
    return { output, code, signal };
  }

  private async pass(ms: number): Promise<void> {
    this.ahead += ms;
    this.harness.clock.advance(ms);
    await this.harness.settle();
  }

  private async expectRight(orderId: string): Promise<void> {
    await this.pass(PAST_LEASES_MS);
    await this.pass(PAST_LEASES_MS);
    const paid = this.harness.sandbox.bills().find((bill) => bill.orderId === orderId && bill.paid);
    // A payer who could not pay returns: whatever state the bill was left in, a usable one can be created.
    const billId = paid?.id ?? (await this.payAgain(orderId));
    const truth = this.harness.sandbox.bill(billId).payments;
    const succeeded = truth.filter(({ status }) => status === 'SUCCESS');
    if (succeeded.length !== 1) throw new Error(`${succeeded.length} payments succeeded.`);

    const { bills, payments, events, reviews, callbacks } = await this.harness.host.ledger();
    const mine = <T extends { readonly orderId: string | null }>(rows: readonly T[]) =>
      rows.filter((row) => row.orderId === orderId);
    const states = mine(bills).map(({ state, billId: id }) => (id === billId ? state : `not ${state}`));
    const effects = mine(await this.harness.effects());
    const problems = [
      states.includes('PAID') && states.every((state) => state === 'PAID' || state === 'not UNKNOWN')
        ? null
        : `bills: ${states.join()}`,
      same(
        mine(payments).map(({ paymentId, status }) => `${paymentId} ${status}`),
        truth.map(({ id, status }) => `${id} ${status}`),
      ),
      same(
        mine(events).map(({ name, paymentId }) => `${paymentId ?? '-'} ${name}`),
        truth.map(({ id, status }) => `${id} ${EVENT_OF[status]!}`),
      ),
      same(
        mine(events).flatMap(({ deliveries }) => deliveries.map(({ consumer, state }) => `${consumer} ${state}`)),
        truth.flatMap(({ status }) => ['orders DONE', ...(status === 'SUCCESS' ? ['event-emitter DONE'] : [])]),
      ),
      same(
        effects.filter(({ consumer }) => consumer === 'orders').map(({ paymentId, event }) => `${paymentId} ${event}`),
        truth.map(({ id, status }) => `${id} ${EVENT_OF[status]!}`),
      ),
      effects.some(({ consumer }) => consumer === 'listener') ? null : 'no listener was told',
      same(mine(reviews), []),
      same(
        callbacks.filter(({ pending }) => pending),
        [],
      ),
      same(await this.leases(), []),
    ].filter((problem) => problem !== null);
    if (problems.length > 0) throw new Error(problems.join('; '));
  }

  private async payAgain(orderId: string): Promise<string> {
    const { billId } = await this.harness.host.payments.createBill({ orderId, amount: '10.00' });
    await this.harness.sandbox.pay(billId);
    await this.harness.sandbox.settled();
    await this.pass(PAST_LEASES_MS);
    return billId;
  }

  private leases(): Promise<unknown[]> {
    return this.harness.host.dataSource.query(
      `SELECT intent_id::text FROM payment_acceptance.bill WHERE lease_token IS NOT NULL OR lease_until IS NOT NULL
       UNION ALL SELECT id::text FROM payment_acceptance.delivery WHERE lease_token IS NOT NULL OR lease_until IS NOT NULL`,
    );
  }
}

const EVENT_OF: Readonly<Record<string, string>> = { SUCCESS: 'payment.succeeded', FAIL: 'payment.failed' };

/** In any order. */
function same(actual: readonly unknown[], expected: readonly unknown[]): string | null {
  const [is, should] = [actual, expected].map((list) =>
    JSON.stringify(list.map((item) => JSON.stringify(item)).sort()),
  );
  return is === should ? null : `${is} instead of ${should}`;
}
