import { minorOf, parseMinor } from '../../common/decimal.js';
import type { Bill, Payment } from '../../model/entities.js';
import { type Ledger, LEDGER_ROWS, type LedgerBill } from './ledger.js';

/** What the sandbox knows, to compare the ledger with. */
export interface Truth {
  /** Bills to look for in the ledger. */
  bills: readonly Bill[];
  /** The instant by the sandbox's clock, in milliseconds. */
  now: number;
  /** Finds any bill of the sandbox. */
  billOf(id: string): Bill | undefined;
  paymentsOf(billId: string): readonly Payment[];
}

/** One rule that must hold between the two, and its violations. */
export interface Check {
  rule: string;
  /** How often it holds. */
  holds: number;
  findings: Finding[];
}

export interface Finding {
  /** `difference`: the two contradict each other. `open`: the shop or a person has yet to act. */
  kind: 'difference' | 'open';
  billId: string | null;
  orderId: string;
  what: string;
}

/** How late a planned check of the shop may be. */
const OVERDUE_MS = 60_000;
/** How long a shop may take to record a bill it has just created. */
const CREATION_MS = 15_000;

/** Compares a shop's ledger with the sandbox, rule by rule. `now` is real time, in milliseconds. */
export function compare(truth: Truth, ledger: Ledger, now: number): Check[] {
  const comparison = new Comparison(truth, ledger, now);
  return [
    comparison.bills(),
    comparison.results(),
    comparison.events(),
    comparison.deliveries(),
    comparison.creations(),
    comparison.reviews(),
  ];
}

class Comparison {
  private readonly ledgerBills: Map<string, LedgerBill>;
  private readonly cutOff: boolean;

  constructor(
    private readonly truth: Truth,
    private readonly ledger: Ledger,
    private readonly now: number,
  ) {
    this.ledgerBills = new Map(ledger.bills.flatMap((bill) => (bill.billId === null ? [] : [[bill.billId, bill]])));
    this.cutOff = Object.values(ledger).some((rows: unknown[]) => rows.length >= LEDGER_ROWS);
  }

  bills(): Check {
    const check = newCheck('The shop knows every bill, with the same amount');
    for (const bill of this.truth.bills) {
      const known = this.ledgerBills.get(bill.id);
      if (!known) {
        if (!this.cutOff) this.reportUnknown(check, bill);
      } else if (!isSameAmount(known.amount, bill.amount) || known.currency !== bill.currency) {
        const what = `The shop billed ${known.amount} ${known.currency}, the service ${bill.amount} ${bill.currency}.`;
        report(check, 'difference', bill, what);
      } else check.holds += 1;
    }
    for (const { billId, orderId } of this.ledgerBills.values()) {
      if (billId === null || this.truth.billOf(billId)) continue;
      report(check, 'difference', { id: billId, orderId }, 'The shop has this bill, the service does not.');
    }
    return check;
  }

  results(): Check {
    const check = newCheck('Each final payment has become one event, or a review');
    for (const bill of this.truth.bills) {
      const known = this.ledgerBills.get(bill.id);
      if (!known) continue;
      for (const payment of this.truth.paymentsOf(bill.id)) {
        if (payment.status !== 'SUCCESS' && payment.status !== 'FAIL') continue;
        const name = payment.status === 'SUCCESS' ? 'payment.succeeded' : 'payment.failed';
        const isOf = (row: { paymentId: string | null }): boolean => row.paymentId === payment.id;
        const events = this.ledger.events.filter((event) => isOf(event) && event.name === name).length;
        if (events === 1 || (events === 0 && this.ledger.reviews.some(isOf))) check.holds += 1;
        else if (events > 1) report(check, 'difference', bill, `Payment ${payment.id} has ${events} events ${name}.`);
        else if (!this.cutOff) this.reportUnseen(check, bill, payment, known);
      }
    }
    return check;
  }

  events(): Check {
    const check = newCheck('The shop believes nothing that did not happen');
    for (const { paymentId, billId, status, amount } of this.ledger.payments) {
      const payment = this.paymentOf(billId, paymentId);
      const bill = this.truth.billOf(billId) ?? { id: billId, orderId: '' };
      if (!payment) report(check, 'difference', bill, `The service has no payment ${paymentId}.`);
      else if (!hasBeen(payment, status)) {
        const what = `The shop has seen payment ${paymentId} as ${status}; it is ${payment.status}, and was never that.`;
        report(check, 'difference', bill, what);
      } else if (amount !== null && !isSameAmount(amount, payment.amount)) {
        report(
          check,
          'difference',
          bill,
          `Payment ${paymentId}: ${amount} in the shop, ${payment.amount} at the service.`,
        );
      } else check.holds += 1;
    }
    for (const { name, billId, paymentId } of this.ledger.events) {
      const told = name === 'payment.succeeded' ? 'SUCCESS' : name === 'payment.failed' ? 'FAIL' : undefined;
      if (!told) continue;
      const payment = this.paymentOf(billId, paymentId ?? '');
      if (payment && hasBeen(payment, told)) check.holds += 1;
      else {
        const bill = this.truth.billOf(billId) ?? { id: billId, orderId: '' };
        report(check, 'difference', bill, `${name} reports payment ${paymentId ?? '(none)'}, which was never ${told}.`);
      }
    }
    for (const bill of this.ledger.bills) {
      if (bill.state !== 'PAID' || bill.billId === null || !this.truth.billOf(bill.billId)) continue;
      if (this.truth.paymentsOf(bill.billId).some((payment) => hasBeen(payment, 'SUCCESS'))) check.holds += 1;
      else
        report(
          check,
          'difference',
          { id: bill.billId, orderId: bill.orderId },
          'The shop records it as PAID; nobody paid.',
        );
    }
    return check;
  }

  deliveries(): Check {
    const check = newCheck('Every event has reached its consumers');
    for (const { name, billId, deliveries } of this.ledger.events) {
      const bill = this.truth.billOf(billId) ?? { id: billId, orderId: '' };
      for (const { consumer, state, lastError } of deliveries) {
        if (state === 'DONE') check.holds += 1;
        else if (state === 'DEAD') {
          const what = `${name} is a dead letter of "${consumer}": ${lastError ?? 'no reason is known'}. An operator replays it.`;
          report(check, 'difference', bill, what);
        } else report(check, 'open', bill, `${name} is on its way to "${consumer}".`);
      }
    }
    return check;
  }

  creations(): Check {
    const check = newCheck('The outcome of every creation is known');
    for (const { billId, orderId, state } of this.ledger.bills) {
      if (state !== 'UNKNOWN') check.holds += 1;
      else
        report(
          check,
          'open',
          { id: billId, orderId },
          'Nobody knows whether a bill was made: an operator looks at the service.',
        );
    }
    return check;
  }

  reviews(): Check {
    const check = newCheck('No payment waits for a person');
    for (const { billId, orderId, reason, state } of this.ledger.reviews) {
      if (state !== 'OPEN') check.holds += 1;
      else report(check, 'open', { id: billId, orderId }, `An open review: ${reason}.`);
    }
    return check;
  }

  private reportUnknown(check: Check, bill: Bill): void {
    const intents = this.ledger.bills.filter(({ billId, orderId }) => billId === null && orderId === bill.orderId);
    if (intents.some(({ state }) => state === 'UNKNOWN')) {
      report(check, 'open', bill, 'The answer to the creation was lost: an operator attaches this bill, or voids it.');
    } else if (Date.parse(bill.createdAt) > this.truth.now - CREATION_MS) {
      report(check, 'open', bill, 'The shop has yet to record this bill.');
    } else {
      report(check, 'difference', bill, 'The shop does not know this bill.');
    }
  }

  /** While the shop still plans a check, a missing event is only open. */
  private reportUnseen(check: Check, bill: Bill, payment: Payment, known: LedgerBill): void {
    const planned = known.nextCheckAt !== null && Date.parse(known.nextCheckAt) > this.now - OVERDUE_MS;
    const what = `Payment ${payment.id} is ${payment.status}, and the shop has no event for it`;
    if (planned) report(check, 'open', bill, `${what} yet. Its next check is due ${known.nextCheckAt ?? ''}.`);
    else report(check, 'difference', bill, `${what} and no check of the bill planned.`);
  }

  private paymentOf(billId: string, paymentId: string): Payment | undefined {
    return this.truth.paymentsOf(billId).find(({ id }) => id === paymentId);
  }
}

function newCheck(rule: string): Check {
  return { rule, holds: 0, findings: [] };
}

function report(
  check: Check,
  kind: Finding['kind'],
  { id, orderId }: { id: string | null; orderId: string },
  what: string,
): void {
  check.findings.push({ kind, billId: id, orderId, what });
}

function hasBeen(payment: Payment, status: string): boolean {
  return payment.history.some((past) => past.status === status) || payment.status === status;
}

function isSameAmount(one: string, other: string): boolean {
  return parseMinor(one) === minorOf(other);
}
