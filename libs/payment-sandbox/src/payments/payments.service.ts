import { Inject, Injectable } from '@nestjs/common';
import { PostbacksService } from '../callbacks/postbacks.service.js';
import { formatMinor, minorOf } from '../common/decimal.js';
import { found, SandboxError } from '../common/errors.js';
import { randomId } from '../common/ids.js';
import { durationMs, earliest, isoTime } from '../common/time.js';
import {
  type Amount,
  type Bill,
  type Change,
  type Currency,
  type Instant,
  isFinal,
  type Payment,
  type PlannedStatus,
} from '../model/entities.js';
import { type PaymentSandboxOptions, SANDBOX_OPTIONS } from '../model/options.js';
import { SandboxClock } from '../storage/sandbox-clock.js';
import { SandboxStore } from '../storage/store.js';
import { amountDue, amountPaid, MAX_MINOR, splitPaid } from './amounts.js';
import { behaviourOf, maskCard, type TestCard } from './test-cards.js';

/** What is left out follows from the card and the bill. */
export interface PaymentInput {
  /** The digits of the card, checked. */
  card: string;
  outcome?: 'success' | 'fail';
  amount?: Amount;
  currency?: Currency;
  /** Whether the payment stays in NEW for the option `processingTime`, and again in PROCESS, as on the payer's page. */
  takesTime?: boolean;
}

const RESULTS = { success: 'SUCCESS', fail: 'FAIL' } as const;
const NOTHING_RECEIVED = { amountReceived: '0.00', commission: '0.00' };

/** Takes payments through NEW → PROCESS → SUCCESS | FAIL; a result and its postback are one commit. */
@Injectable()
export class PaymentsService {
  private readonly processingMs: number;

  constructor(
    private readonly store: SandboxStore,
    private readonly clock: SandboxClock,
    private readonly postbacks: PostbacksService,
    @Inject(SANDBOX_OPTIONS) options: PaymentSandboxOptions,
  ) {
    this.processingMs = durationMs(options.processingTime ?? '0s', 'processingTime');
  }

  isPaid(billId: string): boolean {
    return this.store.paymentsOf(billId).some((payment) => payment.status === 'SUCCESS');
  }

  pay(bill: Bill, input: PaymentInput): Payment {
    const shop = this.store.shopOf(bill.id);
    if (shop.banned) throw new SandboxError(409, `The shop ${shop.id} is banned: its bills cannot be paid`);
    const card = behaviourOf(input.card);
    const amount = input.amount ?? formatMinor(amountPaid(amountDue(bill, shop.commissionPercent), card.pays));
    if (minorOf(amount) > MAX_MINOR) throw new SandboxError(400, `The amount ${amount} exceeds 99999999.99`);
    const createdAt = this.clock.instant();
    const payment: Payment = {
      id: randomId(),
      billId: bill.id,
      status: 'NEW',
      amount,
      ...NOTHING_RECEIVED,
      currency: input.currency ?? bill.currency,
      fromCard: maskCard(input.card),
      createdAt,
      history: [{ status: 'NEW', at: createdAt }],
      plan: this.plan(
        input.outcome ? [{ status: 'PROCESS' }, { status: RESULTS[input.outcome] }] : card.steps,
        input.takesTime ? this.processingMs : 0,
      ),
    };
    return this.advance(payment);
  }

  /** Gives a payment its result now, instead of the planned one or after a FAIL. */
  complete(id: string, outcome: 'success' | 'fail', force: boolean): Payment {
    const payment = found(this.store.payments.get(id), `There is no payment ${id}`);
    const status = RESULTS[outcome];
    if (payment.status === status) throw new SandboxError(409, `The payment ${id} is already ${status}`);
    if (payment.status === 'SUCCESS' && !force) {
      throw new SandboxError(409, `The payment ${id} has already succeeded: to make it fail anyway, set force to true`);
    }
    return this.advance({ ...payment, plan: [{ status, at: this.clock.instant() }] });
  }

  /** When the next planned change of a payment is due; undefined if none is planned. */
  nextDueAt(): number | undefined {
    return earliest(this.store.planned.values(), ({ plan }) => plan[0]?.at);
  }

  advanceDue(): void {
    const now = this.clock.instant();
    for (const payment of [...this.store.planned.values()]) if (isDue(payment.plan[0], now)) this.advance(payment);
  }

  private plan(steps: TestCard['steps'], processingMs: number): PlannedStatus[] {
    let timeMs = this.clock.now();
    return steps.map(({ status, after }) => {
      timeMs += after === undefined ? processingMs : durationMs(after, 'after');
      return { status, at: isoTime(timeMs) };
    });
  }

  private advance(payment: Payment): Payment {
    const bill = this.store.bill(payment.billId);
    const shop = this.store.shopOf(bill.id);
    const now = this.clock.instant();
    const callbacks: Change[] = [];
    let current = payment;
    for (let [step, ...plan] = current.plan; isDue(step, now); [step, ...plan] = current.plan) {
      const { status } = step;
      const history = [...current.history, { status, at: now }];
      const amounts =
        status === 'SUCCESS'
          ? splitPaid(current.amount, bill.payerPaysCommission, shop.commissionPercent)
          : NOTHING_RECEIVED;
      current = { ...current, ...amounts, status, history, plan };
      if (isFinal(current)) {
        callbacks.push(...this.postbacks.prepare(shop, bill, current).map((callback) => ({ callback })));
      }
    }
    this.store.commit({ payment: current }, ...callbacks);
    return current;
  }
}

function isDue(step: PlannedStatus | undefined, now: Instant): step is PlannedStatus {
  return step !== undefined && step.at <= now;
}
