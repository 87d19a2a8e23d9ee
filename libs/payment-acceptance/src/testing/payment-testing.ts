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
import { ShopIdentities } from '../module/shop-identities.js';
import type { DeadLetter } from '../domain/records/dead-letter.js';
import { AttachedHost, type AttachOptions } from './attached-host.js';
import { Payer, type PayOptions, type PayOutcome } from './payer.js';
import { SharedClock } from './shared-clock.js';
import { TestedShops } from './tested-shops.js';
import { PaymentTestingError } from './testing.errors.js';

export interface PaymentTestingOptions {
  /** Settings of the sandbox, such as `processingTime`. Shops and clock are the test's. */
  readonly sandbox?: Omit<StartOptions, 'shops' | 'clock'>;
}

/** `Test.createTestingModule(…)`, as far as it is needed here. */
export interface ModuleBuilder {
  overrideProvider(token: unknown): { useValue(value: unknown): unknown };
}

/** By how much the clock goes on between two rounds of the workers: what is tried again after a pause is due then. */
const STEP: Duration = '2ms';

/**
 * A payment acceptance service within the test's process, for an application that is tested as it is: with its own
 * modules, its own database, and no port to choose and nothing to wait for.
 */
export class PaymentTesting {
  private readonly hosts: AttachedHost[] = [];
  /** Those that could not be attached: what they have opened is closed all the same. */
  private readonly refused: INestApplication[] = [];
  private readonly shops: TestedShops;
  private readonly payer: Payer;

  /** @internal Use {@link startPaymentTesting}. */
  constructor(
    private readonly running: RunningSandbox,
    private readonly shared: SharedClock,
  ) {
    this.shops = new TestedShops(running.sandbox, running.url);
    this.payer = new Payer(running.sandbox);
  }

  /** The service itself, for what is rarer: faults, forged postbacks, late results. A shop's id there is its name. */
  get sandbox(): PaymentSandbox {
    return this.running.sandbox;
  }

  /** The time of the module and of the sandbox; it moves on from that of the machine. */
  readonly clock = {
    now: (): Date => this.shared.now(),
    /** Lets time pass for both, as in `advance('3d')`. What has become due is done by {@link settled}. */
    advance: async (by: Duration): Promise<void> => {
      await this.sandbox.advanceClock(by);
    },
  };

  /**
   * Makes the module of an application use this sandbox and clock; call it before `compile()`. Shops keep their names and
   * settings, but for address, id and tokens; workers run only in {@link settled}; checks and deliveries that are repeated
   * wait a millisecond.
   * @param options in place of what the application gives, where that cannot be made in a test
   */
  override<Builder extends ModuleBuilder>(builder: Builder, options?: PaymentAcceptanceOptions): Builder {
    const resolve: OptionsResolver = async (give) =>
      resolveOptions(await this.shops.rewrite(options ?? (await give())), 'test');
    builder.overrideProvider(OPTIONS_RESOLVER).useValue(resolve);
    builder.overrideProvider(PaymentClock).useValue(this.shared);
    // Shops have the sandbox's ids here, on a database that others may use with their own.
    builder.overrideProvider(ShopIdentities).useValue({ verify: () => Promise.resolve() });
    return builder;
  }

  /**
   * Takes an application in: lets it listen on a free port where it does not listen yet, and sends payers and postbacks
   * to its callback routes. Of several instances on one database all work, and the last one gets the callbacks.
   * @throws PaymentTestingError where its builder did not go through {@link override}
   */
  async attach(app: INestApplication, options: AttachOptions = {}): Promise<void> {
    const host = await AttachedHost.of(app, this.shared, options).catch((error: unknown) => {
      this.refused.push(app);
      throw error;
    });
    this.hosts.push(host);
    await this.shops.sendTo((shop) => host.callbackUrls(shop));
  }

  /**
   * Pays the order's latest bill as the payer would: at the service, whose postback then goes out, and back to the
   * application. Nothing is settled yet: see {@link settled}.
   * @throws PaymentTestingError where there is no bill, or the application refuses the postback or the payer
   */
  async pay(orderId: string, options: PayOptions = {}): Promise<PayOutcome> {
    this.attached();
    return this.payer.pay(orderId, options);
  }

  /** The same with a payment that fails; the bill stays open. */
  fail(orderId: string, options: Omit<PayOptions, 'outcome'> = {}): Promise<PayOutcome> {
    return this.pay(orderId, { ...options, outcome: 'fail' });
  }

  /** From now on postbacks get lost; `false` lets them through again. */
  async dropPostbacks(drop = true): Promise<void> {
    const { postbacks: _postbacks, ...faults } = this.sandbox.faults();
    await this.sandbox.setFaults(drop ? { ...faults, postbacks: { drop: 1 } } : faults);
  }

  /**
   * Does everything that is due by the clock: postbacks, checks, deliveries, and those that are tried again.
   * @throws PaymentTestingError where a handler has failed for good
   */
  async settled(): Promise<void> {
    const hosts = this.attached();
    for (let work = 1; work > 0;) {
      await this.sandbox.settled();
      work = 0;
      for (const host of hosts) work += await host.work();
      if (work > 0) await this.sandbox.advanceClock(STEP);
    }
    const dead = new Map<string, DeadLetter>();
    for (const host of hosts) for (const letter of await host.newDeadLetters()) dead.set(letter.deliveryId, letter);
    if (dead.size > 0)
      throw new PaymentTestingError(
        `Handlers have failed for good: ${[...dead.values()].map(describeDeadLetter).join(' ')}`,
      );
  }

  /**
   * Closes the applications that were attached, where the test has not done so, and stops the sandbox. Call it from
   * `afterEach`: a test that fails then leaves nothing open that would keep its runner from ending.
   */
  async close(): Promise<void> {
    const closings = [...this.hosts.splice(0), ...this.refused.splice(0)].map((app) => app.close());
    const ends = [...(await Promise.allSettled(closings)), ...(await Promise.allSettled([this.running.close()]))];
    const errors = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
    if (errors.length > 1) throw new AggregateError(errors, 'What the test had opened could not all be closed.');
    if (errors.length === 1) throw errors[0];
  }

  private attached(): readonly AttachedHost[] {
    if (this.hosts.length === 0) {
      throw new PaymentTestingError('No application is attached: call await payments.attach(app) first.');
    }
    return this.hosts;
  }
}

/**
 * Starts a sandbox within this process, on a free port of 127.0.0.1, for the tests of an application. It works with any
 * test runner, and needs the package `nestjs-payment-sandbox` and the application's own database.
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
  const clock = new SharedClock();
  const running = await startPaymentSandbox({ ...sandbox, clock: clock.machine });
  clock.follow(running.sandbox);
  return new PaymentTesting(running, clock);
}

function describeDeadLetter({ event, shop, orderId, consumer, attempts, lastError }: DeadLetter): string {
  return `${event} of order "${orderId}" (shop "${shop}") to "${consumer}", after ${attempts} attempts: ${lastError ?? 'no error'}.`;
}
