import type { INestApplication } from '@nestjs/common';
import {
  startPaymentSandbox,
  type Duration,
  type PaymentSandbox,
  type RunningSandbox,
  type StartOptions,
} from 'nestjs-payment-sandbox';
import { PaymentClock } from '../common/clock.js';
import type { PaymentAcceptanceOptions } from '../config/options.js';
import { resolveOptions } from '../config/resolve-options.js';
import { OPTIONS_RESOLVER, type OptionsResolver } from '../module/payment-acceptance.module-definition.js';
import { ShopIdentities } from '../settlement/shop-identities.js';
import type { DeadLetter } from '../operations/records.js';
import { AttachedHost, type AttachOptions } from './attached-host.js';
import { Payer, type PayOptions, type PayOutcome } from './payer.js';
import { SharedClock } from './shared-clock.js';
import { TestedShops } from './tested-shops.js';
import { assertTimersRun } from './patience.js';
import { PaymentTestingError } from './testing.errors.js';

export interface PaymentTestingOptions {
  /** Settings of the sandbox, such as `processingTime`. Shops and clock are the test's. */
  readonly sandbox?: Omit<StartOptions, 'shops' | 'clock'>;
}

/** The part of `Test.createTestingModule(…)` that is used here. */
export interface ModuleBuilder {
  overrideProvider(token: unknown): { useValue(value: unknown): unknown };
}

/** How far the clock advances between two rounds of the workers, so that retries become due. */
const STEP: Duration = '2ms';

/**
 * A payment acceptance service inside the test's process, for testing an application as it is: with its own modules and
 * database, without choosing ports and without waiting.
 */
export class PaymentTesting {
  private readonly hosts: AttachedHost[] = [];
  /** Applications that could not be attached; they are closed all the same. */
  private readonly refused: INestApplication[] = [];
  /** The application to which callbacks go. */
  private taker: AttachedHost | undefined;
  private readonly shops = new TestedShops(this.running.sandbox, this.running.url);
  private readonly payer = new Payer(this.running.sandbox);

  /** @internal Use {@link startPaymentTesting}. */
  constructor(
    private readonly running: RunningSandbox,
    private readonly shared: SharedClock,
  ) {}

  /** The sandbox itself, for rarer needs: faults, forged postbacks, late results. There, a shop's id is its name. */
  get sandbox(): PaymentSandbox {
    return this.running.sandbox;
  }

  /** The clock of the module and the sandbox. It is ahead of the machine's clock by the time that was advanced. */
  readonly clock = {
    now: (): Date => this.shared.now(),
    /** Advances the clock, as in `advance('3d')`. {@link settled} then does what has become due. */
    advance: async (by: Duration): Promise<void> => {
      await assertTimersRun();
      await this.sandbox.advanceClock(by);
    },
  };

  /**
   * Makes an application's module use this sandbox and clock; call it before `compile()`. Shops keep their names and
   * settings except address, id, tokens and `requestsPerSecond`; migrations run; workers run only in {@link settled};
   * retried checks and deliveries, and result pages, wait a millisecond.
   * @param options replaces the application's options if they cannot be created in a test
   */
  override<Builder extends ModuleBuilder>(builder: Builder, options?: PaymentAcceptanceOptions): Builder {
    const resolve: OptionsResolver = async (give) =>
      resolveOptions(await this.shops.rewrite(options ?? (await give())), 'test');
    builder.overrideProvider(OPTIONS_RESOLVER).useValue(resolve);
    builder.overrideProvider(PaymentClock).useValue(this.shared);
    // In a test, shops have the sandbox's ids, on a database that other programs may use with the real ids.
    const done = () => Promise.resolve();
    const none = { verify: done, compare: () => Promise.resolve([]), bind: done };
    builder
      .overrideProvider(ShopIdentities)
      .useValue(none satisfies Pick<ShopIdentities, 'verify' | 'compare' | 'bind'>);
    return builder;
  }

  /**
   * Attaches an application: starts it on a free port if it is not listening yet, and sends payers and postbacks to its
   * callback routes. You can attach several instances that share a database; callbacks go to the last one attached that
   * takes them.
   * @throws PaymentTestingError if its builder did not go through {@link override}
   */
  async attach(app: INestApplication, options: AttachOptions = {}): Promise<void> {
    const attaching = assertTimersRun().then(() => AttachedHost.of(app, this.shared, options));
    const host = await attaching.catch((error: unknown) => {
      this.refused.push(app);
      throw error;
    });
    this.hosts.push(host);
    await this.attached();
  }

  /**
   * Pays the order's latest bill as the payer would: pays at the service, which sends its postback, and returns to the
   * application. Nothing is settled yet: see {@link settled}.
   * @throws PaymentTestingError if there is no bill, or the application refuses the postback or the payer
   */
  async pay(orderId: string, options: PayOptions = {}): Promise<PayOutcome> {
    await assertTimersRun();
    await this.attached();
    return this.payer.pay(orderId, options);
  }

  /** The same as {@link pay} with a payment that fails; the bill stays open. */
  fail(orderId: string, options: Omit<PayOptions, 'outcome'> = {}): Promise<PayOutcome> {
    return this.pay(orderId, { ...options, outcome: 'fail' });
  }

  /** Drops all further postbacks; `false` lets them through again. */
  async dropPostbacks(drop = true): Promise<void> {
    const { postbacks: _postbacks, ...faults } = this.sandbox.faults();
    await this.sandbox.setFaults(drop ? { ...faults, postbacks: { drop: 1 } } : faults);
  }

  /**
   * Does everything that is due: postbacks, checks, deliveries and their retries, and questions about lost bills. Warns
   * (`process.emitWarning`) of deliveries that are retried later, such as those whose handler finds no order.
   * @throws PaymentTestingError if a handler has permanently failed
   */
  async settled(): Promise<void> {
    await assertTimersRun();
    const hosts = await this.attached();
    for (let work = 1; work > 0;) {
      await this.sandbox.settled();
      work = 0;
      for (const host of hosts) work += await host.work();
      if (work > 0) await this.sandbox.advanceClock(STEP);
    }
    const retried = new Set((await Promise.all(hosts.map((host) => host.failedDeliveries()))).flat());
    for (const failure of retried) process.emitWarning(failure, 'PaymentTestingWarning');
    const dead = new Map<string, DeadLetter>();
    for (const host of hosts) for (const letter of await host.newDeadLetters()) dead.set(letter.deliveryId, letter);
    if (dead.size > 0)
      throw new PaymentTestingError(
        `Handlers have failed for good: ${[...dead.values()].map(describeDeadLetter).join(' ')}`,
      );
  }

  /**
   * Removes every order, bill, payment, callback and event from the ledgers of the attached applications. For tests
   * that empty their own table of orders: without this, a reused order id would still mean the earlier order.
   */
  async clearLedger(): Promise<void> {
    for (const host of await this.attached()) await host.clearLedger();
  }

  /**
   * Closes the attached applications that the test has not closed, and stops the sandbox. Call it from `afterEach`, so
   * that a failing test leaves nothing open that keeps its runner from ending.
   */
  async close(): Promise<void> {
    // The sandbox, too: an application would wait for an answer that it holds back.
    const closings = [...this.hosts.splice(0), ...this.refused.splice(0), this.running].map((each) => each.close());
    const ending = Promise.allSettled(closings);
    await assertTimersRun();
    const ends = await ending;
    const errors = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
    if (errors.length > 1) throw new AggregateError(errors, 'Not everything that the test opened could be closed.');
    if (errors.length === 1) throw errors[0];
  }

  /** Those that the test has not closed. Callbacks go to the last one. */
  private async attached(): Promise<readonly AttachedHost[]> {
    const open = this.hosts.filter(({ isOpen }) => isOpen);
    if (open.length === 0) {
      throw new PaymentTestingError('No open application is attached: call await payments.attach(app) first.');
    }
    const taker = open.filter(({ takesCallbacks }) => takesCallbacks).at(-1);
    if (taker && taker !== this.taker) await this.shops.sendTo((shop) => taker.callbackUrls(shop));
    this.taker = taker;
    return open;
  }
}

/**
 * Starts a sandbox inside this process, on a free port of 127.0.0.1, to test an application. Works with any test
 * runner; needs the package `nestjs-payment-sandbox` and the application's own database.
 *
 * @example
 * const payments = await startPaymentTesting(); // and in afterEach: payments.close()
 * const module = await payments.override(Test.createTestingModule({ imports: [AppModule] })).compile();
 * const app = module.createNestApplication();
 * await payments.attach(app);
 * const { orderId } = await app.get(Checkout).begin();
 * await payments.pay(orderId);
 * await payments.settled(); // the order is paid
 */
export async function startPaymentTesting({ sandbox = {} }: PaymentTestingOptions = {}): Promise<PaymentTesting> {
  await assertTimersRun();
  const clock = new SharedClock();
  const running = await startPaymentSandbox({ ...sandbox, clock: clock.machine });
  clock.follow(running.sandbox);
  return new PaymentTesting(running, clock);
}

function describeDeadLetter({ event, shop, orderId, consumer, attempts, lastError }: DeadLetter): string {
  return `${event} of order "${orderId}" (shop "${shop}") to "${consumer}", after ${attempts} attempts: ${lastError ?? 'no error'}.`;
}
