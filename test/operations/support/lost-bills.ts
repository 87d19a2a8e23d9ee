import { afterAll, beforeAll, beforeEach, expect } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import { PaymentOperations, type LostBill } from 'nestjs-payment-acceptance/operations';
import type { TestedOptions } from '../../support/options.js';
import { BillInquiry } from '../../../libs/payment-acceptance/src/settlement/bill-inquiry.js';
import { startHarness, type Harness, type Instance } from '../../support/harness.js';
import { postbackFields, postForm } from '../../support/http.js';
import { EffectWriter } from '../../support/orders.js';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** How long a creation may be in progress. */
export const CREATION = 2 * MINUTE;

/** One every five minutes. */
export const INQUIRIES_PER_HOUR = 12;

/** Two instances that inquire about bills which only postbacks name. */
export class LostBillsWorld {
  harness!: Harness;
  /** Ids of the bills whose payments the service was asked for. */
  asked: string[] = [];

  constructor(
    private readonly callbacks: NonNullable<TestedOptions['callbacks']> = {
      inquiriesPerHour: INQUIRIES_PER_HOUR,
    },
  ) {}

  private readonly noteRequest = (message: unknown): void => {
    const [, id] = /\/bill\/payments\?id=(.*)/.exec((message as { request: ClientRequest }).request.path) ?? [];
    if (id !== undefined) this.asked.push(decodeURIComponent(id));
  };

  async start(): Promise<void> {
    subscribe('http.client.request.start', this.noteRequest);
    this.harness = await startHarness({
      instances: 2,
      providers: [EffectWriter],
      options: {
        http: { attempts: 1 },
        callbacks: this.callbacks,
      },
    });
  }

  async reset(): Promise<void> {
    // After an hour, earlier inquiries no longer count against the limit.
    this.harness.clock.advance(HOUR);
    await this.query('TRUNCATE payment_acceptance.lost_bill, payment_acceptance.callback');
    await this.harness.sandbox.clearFaults();
    this.asked = [];
  }

  async close(): Promise<void> {
    unsubscribe('http.client.request.start', this.noteRequest);
    await this.harness.close();
  }

  get operations(): PaymentOperations {
    return this.harness.host.app.get(PaymentOperations);
  }

  query(statement: string, parameters: unknown[] = []): Promise<object[]> {
    return this.harness.host.dataSource.query<object[]>(statement, parameters);
  }

  inquire(instance: Instance = this.harness.host): Promise<number> {
    return instance.app.get(BillInquiry).runOnce();
  }

  /** Runs the inquiries of all instances regularly for some time. */
  async inquireFor(durationMs: number, stepMs = MINUTE): Promise<void> {
    for (let passed = 0; passed < durationMs; passed += stepMs) {
      this.harness.clock.advance(stepMs);
      await Promise.all(this.harness.instances.map((instance) => this.inquire(instance)));
    }
  }

  /** Sends a postback that is stored. */
  async post(TrsId: string, InvId?: string): Promise<void> {
    expect(await this.send(TrsId, InvId)).toBe(200);
  }

  /** Sends a postback. @returns the status of the answer */
  async send(TrsId: string, InvId = `order of ${TrsId}`): Promise<number> {
    const fields = postbackFields({ InvId, OutSum: '10.00', TrsId });
    return (await postForm(`${this.harness.host.url}/postback/payment`, fields)).status;
  }

  /** Creates a bill, loses its commit, and has a payer pay it. @returns the service's `bill_id` */
  async lose(
    orderId: string,
    pay: Parameters<Harness['sandbox']['pay']>[1] = {},
    shop: 'main' | 'eu' = 'main',
  ): Promise<string> {
    const { billId, intentId } = await this.harness.host.payments.shop(shop).createBill({ orderId, amount: '10' });
    await this.query('DELETE FROM payment_acceptance.bill WHERE intent_id = $1', [intentId]);
    await this.query('DELETE FROM payment_acceptance.shop_order WHERE order_id = $1', [orderId]);
    await this.harness.sandbox.pay(billId, pay);
    await this.harness.sandbox.settled();
    return billId;
  }

  /** Loses a bill and finds it again. */
  async find(orderId: string): Promise<LostBill> {
    const billId = await this.lose(orderId);
    this.harness.clock.advance(CREATION);
    expect(await this.inquire()).toBe(1);
    const [lost] = await this.operations.lostBills();
    expect(lost).toMatchObject({ billId });
    return lost!;
  }
}

/** One world for all tests of the surrounding `describe`, reset before each. */
export function useLostBills(callbacks?: TestedOptions['callbacks']): LostBillsWorld {
  const world = new LostBillsWorld(callbacks);
  beforeAll(() => world.start());
  afterAll(() => world.close());
  beforeEach(() => world.reset());
  return world;
}
