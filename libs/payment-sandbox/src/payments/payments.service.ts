import { Inject, Injectable } from '@nestjs/common';
import { earliest, isoTime } from '../common/clock.js';
import { formatMinor, minorOf } from '../common/decimal.js';
import { durationMs } from '../common/duration.js';
import { SandboxError } from '../common/errors.js';
import { randomId } from '../common/ids.js';
import { PostbacksService } from '../callbacks/postbacks.service.js';
import type {
  Amount,
  Bill,
  Change,
  Currency,
  Instant,
  Payment,
  PaymentStatus,
  PlannedStatus,
  Shop,
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
    const shop = this.shopOf(bill);
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
      amountReceived: '0.00',
      commission: '0.00',
      currency: input.currency ?? bill.currency,
      fromCard: maskCard(input.card),
      createdAt,
      history: [{ status: 'NEW', at: createdAt }],
      plan: this.plan(input.outcome ? stepsTo(input.outcome) : card.steps, input.takesTime ? this.processingMs : 0),
    };
    return this.advance(payment);
  }

  /** Gives a payment its result now, instead of the planned one or after a FAIL. */
  complete(id: string, outcome: 'success' | 'fail', force: boolean): Payment {
    const payment = this.store.payments.get(id);
    if (!payment) throw new SandboxError(404, `There is no payment ${id}`);
    const status = outcome === 'success' ? 'SUCCESS' : 'FAIL';
    if (payment.status === status) throw new SandboxError(409, `The payment ${id} is already ${status}`);
    if (payment.status === 'SUCCESS' && !force) {
      throw new SandboxError(409, `The payment ${id} has already succeeded: to make it fail anyway, set force to true`);
    }
    return this.advance({ ...payment, plan: [{ status, at: this.clock.instant() }] });
  }

  /** When the next planned change of a payment is due; undefined if none is planned. */
  nextDueAt(): number | undefined {
    return earliest(this.plannedPayments(), ({ plan }) => plan[0]?.at);
  }

  advanceDue(): void {
    const now = this.clock.instant();
    for (const payment of this.plannedPayments()) if (isDue(payment.plan[0], now)) this.advance(payment);
  }

  private plannedPayments(): Payment[] {
    return [...this.store.planned].flatMap((id) => this.store.payments.get(id) ?? []);
  }

  private plan(steps: TestCard['steps'], processingMs: number): PlannedStatus[] {
    let timeMs = this.clock.now();
    return steps.map(({ status, after }) => {
      timeMs += after === undefined ? processingMs : durationMs(after, 'after');
      return { status, at: isoTime(timeMs) };
    });
  }

  private advance(payment: Payment): Payment {
    const bill = this.store.bills.get(payment.billId);
    if (!bill) throw new Error(`Payment ${payment.id} has no bill`);
    const shop = this.shopOf(bill);
    const now = this.clock.instant();
    const callbacks: Change[] = [];
    let current = payment;
    for (let [step, ...plan] = current.plan; isDue(step, now); [step, ...plan] = current.plan) {
      const { status } = step;
      const history = [...current.history, { status, at: now }];
      current = { ...current, ...amountsAt(status, current.amount, bill, shop), status, history, plan };
      if (status === 'SUCCESS' || status === 'FAIL') {
        callbacks.push(...this.postbacks.prepare(shop, bill, current).map((callback) => ({ callback })));
      }
    }
    this.store.commit({ payment: current }, ...callbacks);
    return current;
  }

  private shopOf(bill: Bill): Shop {
    const shop = this.store.shops.get(bill.shopId);
    if (!shop) throw new Error(`Bill ${bill.id} has no shop`);
    return shop;
  }
}

function stepsTo(outcome: 'success' | 'fail'): TestCard['steps'] {
  return [{ status: 'PROCESS' }, { status: outcome === 'success' ? 'SUCCESS' : 'FAIL' }];
}

function isDue(step: PlannedStatus | undefined, now: Instant): step is PlannedStatus {
  return step !== undefined && step.at <= now;
}

/** Both are zero unless the payment succeeded. */
function amountsAt(
  status: PaymentStatus,
  amount: Amount,
  bill: Bill,
  shop: Shop,
): Pick<Payment, 'amountReceived' | 'commission'> {
  return status === 'SUCCESS'
    ? splitPaid(amount, bill.payerPaysCommission, shop.commissionPercent)
    : { amountReceived: '0.00', commission: '0.00' };
}
