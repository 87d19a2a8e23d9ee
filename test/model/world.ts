import { PaymentServiceClient } from '../../libs/payment-acceptance/src/client/payment-service.client.js';
import type { FaultDocument, PaymentSandbox } from 'nestjs-payment-sandbox';
import type { PaymentLedger } from 'nestjs-payment-acceptance';
import { setCallbacks, startBed, type Bed, type Instance } from '../support/bed.js';
import { Desk, Handlers } from './desk.js';
import type { Model, ServiceBill } from './truth.js';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const DAY = 24 * 60 * MINUTE;
export const LEASE_MS = MINUTE;
export const MAX_ATTEMPTS = 3;

/** One of the two instances; its answers from the service can be held up on their way. */
export class Slot {
  private gate: Promise<void> | undefined;
  private arrived = (): void => undefined;

  constructor(public instance: Instance) {
    this.use(instance);
  }

  get held(): boolean {
    return this.gate !== undefined;
  }

  use(instance: Instance): void {
    this.instance = instance;
    const client = instance.app.get(PaymentServiceClient, { strict: false });
    const list = client.listPayments.bind(client);
    client.listPayments = async (...request) => {
      try {
        return await list(...request);
      } finally {
        this.arrived();
        await this.gate;
      }
    };
  }

  /** Holds answers up until `release()`; `reached` resolves when one has come. */
  hold(): { reached: Promise<void>; release: () => void } {
    let open = (): void => undefined;
    this.gate = new Promise<void>((resolve) => (open = resolve));
    const reached = new Promise<void>((resolve) => (this.arrived = resolve));
    return {
      reached,
      release: () => {
        this.gate = undefined;
        open();
      },
    };
  }
}

/** The real thing: two instances on one database, the sandbox as their service, one clock for all. */
export class World {
  readonly desk: Desk;
  /** How many postbacks and redirects the module has acknowledged without the sandbox having sent them. */
  readonly acknowledged = { postback: 0, redirect: 0 };
  /** Whether the service has misbehaved in this sequence. */
  faulty = false;
  /** Payments that have been FAIL at some time. */
  readonly failed = new Set<string>();
  /** How many postbacks for each bill were acknowledged when we last looked. */
  private readonly counted = new Map<string, number>();

  private constructor(
    private readonly bed: Bed,
    desk: Desk,
    readonly slots: readonly [Slot, Slot],
  ) {
    this.desk = desk;
  }

  static async start(): Promise<World> {
    const desk = new Desk();
    const bed = await startBed({
      instances: 2,
      providers: [{ provide: Desk, useValue: desk }, Handlers],
      sandbox: { postbackRetryDelays: ['10s', '1h'] },
      options: {
        http: { retryBaseMs: 1, retryCapMs: 1 },
        // Long pauses tell a check that a hint asked for from one that was due anyway; no horizon is ever reached.
        schedule: {
          openMs: [6 * 60 * MINUTE],
          lagMs: [3 * SECOND],
          retryCapMs: MINUTE,
          paidForMs: 3650 * DAY,
          expiredForMs: 3650 * DAY,
        },
        confirmer: { leaseMs: LEASE_MS },
        deliveries: { maxAttempts: MAX_ATTEMPTS, retryCapMs: MINUTE, timeLimitMs: 5 * SECOND },
        callbacks: { maxUnmatched: 5 },
      },
    });
    const [one, two] = bed.instances as readonly [Instance, Instance];
    return new World(bed, desk, [new Slot(one), new Slot(two)]);
  }

  get sandbox(): PaymentSandbox {
    return this.bed.sandbox;
  }

  bill(id: string): ServiceBill {
    return this.sandbox.bill(id);
  }

  /** That instance, or the other one while its answers are held up. */
  free(index: number): Slot {
    const [one, two] = this.slots;
    const [wanted, other] = index === 0 ? [one, two] : [two, one];
    return wanted.held ? other : wanted;
  }

  /** Lets time pass for the service and for the module, postbacks that fall due included. */
  async pass(ms: number): Promise<void> {
    await this.sandbox.advanceClock(`${ms}ms`);
    this.bed.clock.advance(ms);
  }

  async setFaults(faults: FaultDocument): Promise<void> {
    await this.sandbox.setFaults({ ...this.sandbox.faults(), ...faults });
  }

  /** Waits for the postbacks that are due, then notes of which payments the module has now been told. */
  async told(model: Model): Promise<void> {
    await this.sandbox.settled();
    for (const bill of model.bills) {
      const { callbacks, payments } = this.sandbox.bill(bill.billId);
      const taken = callbacks.filter(({ state, fields }) => state === 'delivered' && fields['TrsId'] === bill.billId);
      for (const { id, status } of payments) if (status === 'FAIL') this.failed.add(id);
      if (taken.length === (this.counted.get(bill.billId) ?? 0)) continue;
      this.counted.set(bill.billId, taken.length);
      bill.told = new Map(payments.map(({ id, status }) => [id, status]));
    }
  }
  /** Both instances check and deliver at the same moment; gives how much there was to do. */
  async everybody(): Promise<number> {
    const work = this.slots.flatMap(({ instance }) => [instance.confirmer.runOnce(), instance.deliveries.runOnce()]);
    return (await Promise.all(work)).reduce((sum, count) => sum + count, 0);
  }

  ledger(): Promise<PaymentLedger> {
    return this.slots[0].instance.ledger();
  }

  /** Whether a callback still asks for a check of a bill of ours. */
  async hinted(): Promise<boolean> {
    const hints = 'SELECT 1 FROM payment_acceptance.callback WHERE pending AND bill_id IS NOT NULL LIMIT 1';
    return (await this.query(hints)).length > 0;
  }

  /** Whether the service has said that the bill has too many payments: a person's business, and no answer. */
  refusedToList(billId: string): boolean {
    return this.sandbox.requests.some(
      (request) => request.billId === billId && request.faults.includes('tooManyPayments'),
    );
  }

  /** How many postbacks of this sequence the module has answered with 200. */
  postbacksTaken({ run }: Model): number {
    const sent = this.sandbox.bills().filter(({ orderId }) => orderId.startsWith(`${run}-`));
    const taken = sent.flatMap(({ id }) =>
      this.sandbox.bill(id).callbacks.filter(({ state }) => state === 'delivered'),
    );
    return taken.length + this.acknowledged.postback;
  }

  async untilQuiet(): Promise<void> {
    for (let round = 0; round < 100; round += 1) if ((await this.everybody()) === 0) return;
    throw new Error('The workers find something to do for ever.');
  }

  /** Closes an instance as a release does, and starts it anew. */
  async restart(index: number): Promise<void> {
    const slot = this.free(index);
    const started = await this.bed.start();
    await setCallbacks(this.sandbox, started.url);
    const stopped = slot.instance;
    slot.use(started);
    await stopped.app.close();
    (this.bed.instances as Instance[]).splice(this.bed.instances.indexOf(stopped), 1);
  }

  query<Row>(sql: string): Promise<Row[]> {
    return this.slots[0].instance.dataSource.query(sql);
  }

  /** Forgets all that a sequence has left, so that the next one begins with nothing. */
  async clear(): Promise<void> {
    await this.sandbox.clearFaults();
    this.desk.forget();
    this.counted.clear();
    this.failed.clear();
    this.faulty = false;
    Object.assign(this.acknowledged, { postback: 0, redirect: 0 });
    await this.query(
      ['delivery', 'event', 'review', 'payment', 'callback', 'bill', 'shop_order']
        .map((table) => `DELETE FROM payment_acceptance.${table};`)
        .concat('DELETE FROM effect;', 'UPDATE payment_acceptance.shop_state SET refused_since = NULL, probe_at = NULL')
        .join(' '),
    );
  }

  close(): Promise<void> {
    return this.bed.close();
  }
}
