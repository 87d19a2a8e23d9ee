import type { Callback, FaultDocument, PaymentSandbox } from 'nestjs-payment-sandbox';
import {
  PaymentOperations,
  PaymentRecords,
  PaymentReviews,
  type BillDetails,
} from 'nestjs-payment-acceptance/operations';
import type { PaymentLedger } from '../support/ledger.js';
import { setCallbacks, startHarness, type Harness, type Instance } from '../support/harness.js';
import { preparingDriver } from '../support/prepared-statements.js';
import { Books, Desk, Handlers } from './desk.js';
import { Replica } from './replica.js';
import { Slot } from './slot.js';
import { RANK, statusAt, type KnownBill, type Model, type ServiceBill } from './truth.js';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const DAY = 24 * 60 * MINUTE;
export const LEASE_MS = 30 * SECOND;
export const MAX_ATTEMPTS = 3;
export const MAX_UNMATCHED = 5;
export const OPERATOR = 'somebody';

/** The system under test: two instances on one database, the sandbox as their service, one clock for all. */
export class World {
  readonly replica = new Replica();
  readonly slots: readonly [Slot, Slot];
  /** How many postbacks and redirects the module has acknowledged without the sandbox having sent them. */
  readonly acknowledged = { postback: 0, redirect: 0 };
  /** Whether the service has misbehaved in this sequence. */
  faulty = false;
  /** Callbacks of the sandbox whose acknowledgement was seen. */
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
        // Long pauses, so that a check requested by a hint differs from a scheduled one; bills are followed for ever.
        schedule: {
          openMs: [6 * 60 * MINUTE],
          lagMs: [3 * SECOND, 30 * SECOND],
          retryCapMs: MINUTE,
          paidForMs: 3650 * DAY,
          expiredForMs: 3650 * DAY,
        },
        deliveries: { maxAttempts: MAX_ATTEMPTS, retryCapMs: MINUTE, timeoutMs: 5 * SECOND },
        callbacks: { maxUnmatched: MAX_UNMATCHED },
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

  /** The given instance, or the other one while its answers are delayed. */
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

  /** The service executes the next request, but its answer is lost. */
  async loseNext(operation: 'create' | 'payments'): Promise<void> {
    this.faulty = true;
    await this.setFaults({ requests: { loseAnswer: { times: 1, operation } } });
  }

  /** Waits for due postbacks, then records which payments they have announced to the module. */
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
   * A callback causes a request for the list, and further ones while the list may lag, unless the list already shows another
   * payment, whose own postback did not come, that can be mistaken for the one that the callback is about.
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

  /** Lets enough time pass for deliveries that keep failing to become dead letters. */
  async wearOut(): Promise<void> {
    for (let round = 0; round <= MAX_ATTEMPTS; round += 1) {
      await this.pass(70 * SECOND);
      await this.everybody();
    }
  }

  /** Both instances check and deliver concurrently, except a delayed one; returns how many items there were. */
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

  /** Creations of unknown outcome. */
  async unknown(): Promise<BillDetails[]> {
    const records = this.slots[0].instance.app.get(PaymentRecords);
    const { rows } = await records.bills({ states: ['UNKNOWN'] });
    return (await Promise.all(rows.map(({ intentId }) => records.bill(intentId)))).filter((bill) => bill !== undefined);
  }

  ledger(): Promise<PaymentLedger> {
    return this.slots[0].instance.ledger();
  }

  /** Whether a callback still requests a check of a bill of ours. */
  async hinted(): Promise<boolean> {
    const hints = 'SELECT 1 FROM payment_acceptance.callback WHERE pending AND intent_id IS NOT NULL LIMIT 1';
    return (await this.query(hints)).length > 0;
  }

  /** Whether the service refused to list the bill's payments because there are too many: that needs a person. */
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
    throw new Error('The workers never run out of work.');
  }

  /** Restarts an instance as a release does, with or without the code of the consumer `eu-books`. */
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

  /** Deletes everything that a sequence has left, for the next one. */
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

/** When the module acknowledged the callback, on the sandbox's clock. */
const takenAt = ({ tries }: Callback): string => tries.at(-1)!.at;
