import fc from 'fast-check';
import type { PayResult, Payment } from 'nestjs-payment-sandbox';
import { cents, type Model } from './truth.js';
import { anIndex, pick, step } from './step.js';
import type { World } from './world.js';

const HOW = {
  success: {},
  fail: { outcome: 'fail' },
  process: { card: '4000 0000 0000 3220' },
  new: { card: '4000 0000 0000 0069' },
  /** Fails, and succeeds a minute later. */
  recovers: { card: '4000 0000 0000 0341' },
} as const;

/** Redirects that payers hold, to be sent once or again. */
const redirects = new WeakMap<Model, NonNullable<PayResult['redirect']>[]>();
export const redirectsOf = (model: Model) => redirects.get(model) ?? [];

function keep(model: Model, { redirect }: PayResult): void {
  if (redirect) redirects.set(model, [...redirectsOf(model), redirect]);
}

export const pay = step(
  'pay',
  fc.record({
    bill: anIndex,
    how: fc.constantFrom('success', 'success', 'fail', 'process', 'new', 'recovers'),
    more: fc.constantFrom(0, 0, 0, 0, -1, 1, -300),
    currency: fc.constantFrom(undefined, undefined, undefined, undefined, 'USD'),
  }),
  async (model, world, { bill, how, more, currency }) => {
    const { billId } = pick(model.bills, bill);
    const amount = ((cents(world.bill(billId).amount) + more) / 100).toFixed(2);
    keep(model, await world.sandbox.pay(billId, { ...HOW[how], amount, ...(currency && { currency }) }));
  },
);

/** The result of a payment that has none yet, or a late success after a failure. */
export const complete = step(
  'complete',
  fc.record({ payment: anIndex, outcome: fc.constantFrom('success', 'success', 'fail') }),
  async (model, world, { payment, outcome }) => {
    const unfinished = paymentsOf(model, world).filter(({ status }) => status !== 'SUCCESS');
    if (unfinished.length === 0) return;
    const { id, status } = pick(unfinished, payment);
    keep(model, await world.sandbox.complete(id, { outcome: status === 'FAIL' ? 'success' : outcome }));
  },
);

function paymentsOf(model: Model, world: World): Payment[] {
  return model.bills.flatMap(({ billId }) => world.bill(billId).payments);
}
