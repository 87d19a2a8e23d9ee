import { expect } from '@jest/globals';
import type { PaymentLedger } from '../support/ledger.js';
import { named, type EventRow } from './events.js';
import { dueOf, type Model, type ServiceBill } from './truth.js';
import type { World } from './world.js';

/** A payment at the service, with what it must have led to. */
type TruePayment = ReturnType<typeof dueOf> & {
  readonly bill: ServiceBill;
  readonly payment: ServiceBill['payments'][number];
};

/** Bills, payments, events and reviews are what the payments at the service lead to. */
export async function expectLedger(model: Model, world: World, events: readonly EventRow[]): Promise<void> {
  const ledger = await world.ledger();
  const bills = model.bills.map(({ billId }) => world.bill(billId));
  const truth = bills.flatMap((bill) =>
    bill.payments.map((payment) => ({ bill, payment, ...dueOf(model, bill, payment) })),
  );
  expect(ledger.bills.flatMap(({ billId }) => billId ?? []).sort()).toEqual(bills.map(({ id }) => id).sort());
  expect(ledger.payments.map((p) => [p.paymentId, p.billId, p.status, p.amount, p.currency].join(' ')).sort()).toEqual(
    truth.map(({ payment: p }) => [p.id, p.billId, p.status, p.amount, p.currency].join(' ')).sort(),
  );
  expectStates(bills, truth, ledger);
  expectOutcomes(truth, events);
  expectExpirations(events, ledger);
  expectReviews(model, world, truth, events, ledger);
}

function expectStates(bills: readonly ServiceBill[], truth: readonly TruePayment[], ledger: PaymentLedger): void {
  for (const bill of bills) {
    const accepted = succeededOf(truth).some(({ bill: of, event }) => of === bill && event);
    const mayHoldMoney = bill.payments.some(({ status }) => status !== 'FAIL');
    const { state } = ledger.bills.find(({ billId }) => billId === bill.id)!;
    // An expired bill stays expired when a payment begins late.
    expect(accepted ? ['PAID'] : mayHoldMoney ? ['OPEN', 'EXPIRED'] : ['EXPIRED']).toContain(state);
  }
}

/** Each payment has the events of its outcomes, once each, a failure before a success of the same settlement. */
function expectOutcomes(truth: readonly TruePayment[], events: readonly EventRow[]): void {
  const successes = named(events, 'payment.succeeded');
  const failures = named(events, 'payment.failed');
  const due = succeededOf(truth).filter(({ event }) => event);
  expect(successes.map(({ data }) => data.paymentId!).sort()).toEqual(due.map(({ payment }) => payment.id).sort());
  const failed = failures.map(({ data }) => data.paymentId!);
  expect(new Set(failed).size).toBe(failed.length);
  const everFailed = truth.filter(({ payment }) => payment.history.some(({ status }) => status === 'FAIL'));
  expect(everFailed.map(({ payment }) => payment.id)).toEqual(expect.arrayContaining(failed));
  const ended = truth.filter(({ payment }) => payment.status === 'FAIL').map(({ payment }) => payment.id);
  expect(failed).toEqual(expect.arrayContaining(ended));
  for (const { seq, billId, at } of failures) {
    const together = successes.filter((event) => event.billId === billId && event.at === at);
    expect(together.filter((event) => event.seq < seq)).toEqual([]);
  }
}

function expectExpirations(events: readonly EventRow[], { bills }: PaymentLedger): void {
  const expired = named(events, 'bill.expired').map(({ billId }) => billId);
  expect(new Set(expired).size).toBe(expired.length);
  expect(expired).toEqual(
    expect.arrayContaining(bills.filter(({ state }) => state === 'EXPIRED').map(({ billId }) => billId)),
  );
}

function expectReviews(
  model: Model,
  world: World,
  truth: readonly TruePayment[],
  events: readonly EventRow[],
  { reviews }: PaymentLedger,
): void {
  const seconds = named(events, 'payment.succeeded').filter(({ data }) => data.firstForOrder === false);
  const due = [
    ...succeededOf(truth).flatMap(({ payment, review }) => (review === null ? [] : [`${review} ${payment.id}`])),
    ...seconds.map(({ data }) => `second-payment ${data.paymentId!}`),
  ];
  // There may be more: after refusals of the service, and where its list lags behind what an operator knew.
  const mayBe = Array.from(model.afterFailure, (id) => `payment-changed ${id}`);
  const aboutMoney = reviews
    .filter(
      ({ reason, billId }) =>
        !(reason === 'too-many-payments' && world.refusedToList(billId)) && !(reason === 'uncheckable' && world.faulty),
    )
    .map(({ reason, paymentId }) => `${reason} ${paymentId ?? '-'}`);
  const certain = (review: string) => !mayBe.includes(review);
  expect(aboutMoney.filter(certain).sort()).toEqual(due.filter(certain).sort());
  const announced = named(events, 'payment.review').map(({ data }) => data.reviewId);
  expect(announced.sort()).toEqual(reviews.map(({ id }) => id).sort());
}

function succeededOf(truth: readonly TruePayment[]): TruePayment[] {
  return truth.filter(({ payment }) => payment.status === 'SUCCESS');
}
