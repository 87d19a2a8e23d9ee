import type { ReportedPayment } from '../../libs/payment-acceptance/src/domain/payment.js';
import { PaymentServiceClient } from '../../libs/payment-acceptance/src/client/payment-service.client.js';
import type { Callback, FaultDocument, PaymentSandbox } from 'nestjs-payment-sandbox';
import { PaymentOperations, PaymentReviews, type PaymentLedger } from 'nestjs-payment-acceptance/operations';
import { setCallbacks, startHarness, type Harness, type Instance } from '../support/harness.js';
import { preparingDriver } from '../support/prepared-statements.js';
import { Books, Desk, Handlers } from './desk.js';
import { Replica } from './replica.js';
import { RANK, statusAt, type KnownBill, type Model, type ServiceBill } from './truth.js';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const DAY = 24 * 60 * MINUTE;
export const LEASE_MS = MINUTE;
export const MAX_ATTEMPTS = 3;
export const OPERATOR = 'somebody';

/** One of the two instances; its answers from the service can be held up on their way. */
export class Slot {
  private gate: Promise<void> | undefined;
  private arrived = (): void => undefined;

  constructor(
    public instance: Instance,
    /** Whether it has the code of the consumer `eu-books`. */
    public books: boolean,
    private readonly lists: (billId: string, listed: ReportedPayment[]) => ReportedPayment[],
  ) {
    this.use(instance, books);
  }

  get held(): boolean {
    return this.gate !== undefined;
  }

  use(instance: Instance, books: boolean): void {
    this.instance = instance;
    this.books = books;
    const client = instance.app.get(PaymentServiceClient, { strict: false });
    const list = client.readPaymentList.bind(client);
    client.readPaymentList = async (shop, billId, ...more) => {
      try {
        const { payments, flaws } = await list(shop, billId, ...more);
        return { payments: this.lists(billId, [...payments]), flaws };
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
  readonly replica = new Replica();
  readonly slots: readonly [Slot, Slot];
  /** How many postbacks and redirects the module has acknowledged without the sandbox having sent them. */
  readonly acknowledged = { postback: 0, redirect: 0 };
  /** Whether the service has misbehaved in this sequence. */
  faulty = false;
  /** Callbacks of the sandbox that the module was seen to have acknowledged. */
  private readonly seen = new Set<string>();

  private constructor(
    private readonly harness: Harness,
    readonly desk: Desk,
  ) {
    const slot = (instance: Instance) =>
      new Slot(instance, true, (id, listed) => this.replica.read(this.bill(id), listed, this.sandbox.now()));
    const [one, two] = harness.instances as readonly [Instance, Instance];
    this.slots = [slot(one), slot(two)];
  }

  static async start(): Promise<World> {
    const desk = new Desk();
    const harness = await startHarness({
      instances: 2,
      driver: preparingDriver,
      providers: providers(desk, true),
      sandbox: { postbackRetryDelays: ['10s', '1h'] },
      options: {
        http: { retryBaseMs: 1, retryCapMs: 1 },
        // Long pauses tell a check that a hint asked for from one that was due anyway; no horizon is ever reached.
        schedule: {
          openMs: [6 * 60 * MINUTE],
          lagMs: [3 * SECOND, 30 * SECOND],
          retryCapMs: MINUTE,
          paidForMs: 3650 * DAY,
          expiredForMs: 3650 * DAY,
        },
        confirmer: { leaseMs: LEASE_MS },
        deliveries: { maxAttempts: MAX_ATTEMPTS, retryCapMs: MINUTE, timeLimitMs: 5 * SECOND },
        callbacks: { maxUnmatched: 5 },
      },
    });
    return new World(harness, desk);
  }

  get sandbox(): PaymentSandbox {
    return this.harness.sandbox;
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
    this.harness.clock.advance(ms);
  }

  async setFaults(faults: FaultDocument): Promise<void> {
    await this.sandbox.setFaults({ ...this.sandbox.faults(), ...faults });
  }

  /** The service does what it is asked for next, and nobody learns of it. */
  async loseNext(operation: 'create' | 'payments'): Promise<void> {
    this.faulty = true;
    await this.setFaults({ requests: { loseAnswer: { times: 1, operation } } });
  }

  /** Waits for the postbacks that are due, then notes of which payments the module has now been told. */
  async told(model: Model): Promise<void> {
    await this.sandbox.settled();
    for (const known of model.bills) {
      const bill = this.bill(known.billId);
      const taken = bill.callbacks.filter(({ state, fields }) => state === 'delivered' && fields['TrsId'] === bill.id);
      for (const callback of taken.filter(({ id }) => !this.seen.has(id))) {
        this.seen.add(callback.id);
        this.tell(known, bill, callback, taken);
      }
    }
  }

  /**
   * A callback has the list asked for, and again while it may lag: unless a payment whose own postback did not come can be
   * taken for the one that it claims, and is shown already.
   */
  private tell({ told }: KnownBill, { payments }: ServiceBill, callback: Callback, taken: readonly Callback[]): void {
    const at = takenAt(callback);
    const claimed = payments.every((payment) => {
      const status = statusAt(payment, at);
      const own = ({ paymentId, fields }: Callback) => paymentId === payment.id && fields['Status'] === status;
      return status !== callback.fields['Status'] || taken.some((other) => own(other) && takenAt(other) <= at);
    });
    const asksAgain = callback.fields['Status'] === 'SUCCESS' || callback.fields['Status'] === 'FAIL';
    for (const payment of payments) {
      const status = claimed && asksAgain ? statusAt(payment, at) : this.replica.statusAt(payment, at);
      if (status && RANK[status]! > (RANK[told.get(payment.id) ?? ''] ?? 0)) told.set(payment.id, status);
    }
  }

  /** Long enough for what fails all the time to become a dead letter. */
  async wearOut(): Promise<void> {
    for (let round = 0; round <= MAX_ATTEMPTS; round += 1) {
      await this.pass(70 * SECOND);
      await this.everybody();
    }
  }

  /** Both instances check and deliver at the same moment, but for a check that is held; gives how much there was to do. */
  async everybody(): Promise<number> {
    const work = this.slots.flatMap(({ instance, held }) => [
      held ? Promise.resolve(0) : instance.confirmer.runOnce(),
      instance.deliveries.runOnce(),
    ]);
    return (await Promise.all(work)).reduce((sum, count) => sum + count, 0);
  }

  operations(index: number): PaymentOperations {
    return this.free(index).instance.app.get(PaymentOperations);
  }

  reviews(index: number): PaymentReviews {
    return this.free(index).instance.app.get(PaymentReviews);
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

  /** Closes an instance as a release does, and starts it anew, with the code of the consumer `eu-books` or without. */
  async restart(index: number, books: boolean): Promise<void> {
    const slot = this.free(index);
    const started = await this.harness.start({ providers: providers(this.desk, books) });
    await setCallbacks(this.sandbox, started.url);
    const stopped = slot.instance;
    slot.use(started, books);
    await stopped.app.close();
    (this.harness.instances as Instance[]).splice(this.harness.instances.indexOf(stopped), 1);
  }

  hostsBooks(): boolean {
    return this.slots.some(({ books }) => books);
  }

  query<Row>(sql: string): Promise<Row[]> {
    return this.slots[0].instance.dataSource.query(sql);
  }

  /** Forgets all that a sequence has left, so that the next one begins with nothing. */
  async clear(): Promise<void> {
    await this.sandbox.clearFaults();
    this.desk.forget();
    this.seen.clear();
    this.faulty = false;
    this.replica.lagging = false;
    if (!this.hostsBooks()) await this.restart(0, true);
    Object.assign(this.acknowledged, { postback: 0, redirect: 0 });
    await this.query(
      ['operator_action', 'delivery', 'event', 'review', 'payment', 'callback', 'bill', 'shop_order']
        .map((table) => `DELETE FROM payment_acceptance.${table};`)
        .concat('DELETE FROM effect;', 'UPDATE payment_acceptance.shop_state SET refused_since = NULL, probe_at = NULL')
        .join(' '),
    );
  }

  close(): Promise<void> {
    return this.harness.close();
  }
}

const providers = (desk: Desk, books: boolean) => [
  { provide: Desk, useValue: desk },
  Handlers,
  ...(books ? [Books] : []),
];

/** When the module has acknowledged it, by the sandbox's clock. */
const takenAt = ({ tries }: Callback): string => tries.at(-1)!.at;
