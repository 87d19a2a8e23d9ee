import { expect } from '@jest/globals';
import fc from 'fast-check';
import {
  PaymentBillMismatchError,
  PaymentCreationInProgressError,
  PaymentOrderAlreadyPaidError,
  PaymentOrderCancelledError,
  PaymentServiceError,
  PaymentUnknownOutcomeError,
  type PaymentBill,
} from 'nestjs-payment-acceptance';
import { cents, dueOf, keyOf, type Model } from './truth.js';
import { anIndex, pick, step } from './step.js';
import { SECOND, type World } from './world.js';

interface Wish {
  readonly shop: 'main' | 'eu';
  readonly orderId: string;
  readonly amount: string;
  readonly newAttempt: boolean;
  readonly payerPaysCommission: boolean;
  readonly custom: string | undefined;
}

/** A bill for one of three orders, asked for once or by both instances at once, and perhaps paid before the answer. */
export const create = step(
  'create',
  fc.record({
    shop: fc.constantFrom('main', 'main', 'eu'),
    order: fc.constantFrom('A', 'A', 'B', 'C'),
    amount: fc.constantFrom('10.00', '10.00', '20.50'),
    newAttempt: fc.boolean(),
    payerPaysCommission: fc.boolean(),
    custom: fc.constantFrom(undefined, 'cart'),
    by: anIndex,
    how: fc.constantFrom('once', 'once', 'once', 'twice', 'paid meanwhile', 'answer lost'),
  }),
  async (model, world, { order, by, how, ...rest }) => {
    const wish: Wish = { ...rest, orderId: `${model.run}-${order}` };
    if (how === 'paid meanwhile') return payMeanwhile(model, world, wish, by);
    if (how === 'answer lost') await world.loseNext('create');
    const made = await Promise.all(
      (how === 'twice' ? [by, by + 1] : [by]).map((instance) => attempt(model, world, wish, instance)),
    );
    if (!wish.newAttempt) expect(new Set(made.flatMap((bill) => bill?.billId ?? [])).size).toBeLessThanOrEqual(1);
  },
  () => true,
);

/** One more bill for an order; all of the order's bills are paid, and checked by both instances, at the same moment. */
export const rivals = step('rivals', fc.record({ bill: anIndex, by: anIndex }), async (model, world, { bill, by }) => {
  const { shop, orderId } = pick(model.bills, bill);
  const wish = { shop, orderId, amount: '10.00', newAttempt: true, payerPaysCommission: false, custom: undefined };
  await attempt(model, world, wish, by);
  for (const rival of model.bills.filter((other) => other.shop === shop && other.orderId === orderId)) {
    if (world.bill(rival.billId).payments.length === 0) await world.sandbox.pay(rival.billId);
  }
  await world.told(model);
  await world.pass(3 * SECOND);
  await world.everybody();
});

/** The shop cancels an order, from one instance or from both, and the payer perhaps pays then. */
export const cancel = step(
  'cancel',
  fc.record({ bill: anIndex, by: anIndex, twice: fc.boolean(), paid: fc.boolean() }),
  async (model, world, { bill, by, twice, paid }) => {
    const order = pick(model.bills, bill);
    const ends = await Promise.allSettled(
      (twice ? [by, by + 1] : [by]).map((at) => shopAt(world, order.shop, at).cancelOrder(order.orderId)),
    );
    expect(new Set(ends.map(({ status }) => status)).size).toBe(1);
    for (const end of ends) {
      if (end.status === 'fulfilled') {
        model.cancelled.add(keyOf(order));
        continue;
      }
      expect(end.reason).toBeInstanceOf(PaymentOrderAlreadyPaidError);
      const bills = model.bills.filter((other) => keyOf(other) === keyOf(order));
      expect(bills.some(({ billId }) => isPaid(model, world, billId))).toBe(true);
    }
    if (paid) await world.sandbox.pay(order.billId);
  },
);

function shopAt(world: World, shop: Wish['shop'], by: number) {
  return world.slots[by % 2 === 0 ? 0 : 1].instance.payments.shop(shop);
}

/** The postback overtakes the answer that tells us of the bill. */
async function payMeanwhile(model: Model, world: World, wish: Wish, by: number): Promise<void> {
  const hold = world.sandbox.holdAnswers('create');
  const before = new Set(world.sandbox.bills().map(({ id }) => id));
  const creating = attempt(model, world, wish, by);
  await Promise.race([hold.reached(), creating]);
  const made = world.sandbox.bills().find(({ id }) => !before.has(id));
  if (made) await world.sandbox.pay(made.id);
  await world.sandbox.settled();
  hold.release();
  await creating;
}

async function attempt(model: Model, world: World, wish: Wish, by: number): Promise<PaymentBill | undefined> {
  const { shop, orderId, newAttempt, ...request } = wish;
  const known = model.bills.filter((bill) => bill.shop === shop && bill.orderId === orderId);
  let bill: PaymentBill;
  try {
    bill = await shopAt(world, shop, by).createBill({ orderId, ...request }, { newAttempt });
  } catch (error) {
    if (error instanceof PaymentCreationInProgressError) return undefined;
    if (error instanceof PaymentUnknownOutcomeError || error instanceof PaymentServiceError)
      expect(world.faulty).toBe(true);
    else if (error instanceof PaymentOrderAlreadyPaidError)
      expect(known.some(({ billId }) => isPaid(model, world, billId))).toBe(true);
    else if (error instanceof PaymentOrderCancelledError) expect(model.cancelled).toContain(keyOf(wish));
    else if (error instanceof PaymentBillMismatchError) expect(known.length).toBeGreaterThan(0);
    else throw error;
    return undefined;
  }
  expect(model.cancelled).not.toContain(keyOf(wish));
  const made = world.bill(bill.billId);
  expect([made.orderId, cents(made.amount)]).toEqual([orderId, cents(wish.amount)]);
  if (!model.bills.some(({ billId }) => billId === bill.billId)) {
    model.bills.push({ shop, orderId, billId: bill.billId, told: new Map() });
  }
  return bill;
}

function isPaid(model: Model, world: World, billId: string): boolean {
  const bill = world.bill(billId);
  return bill.payments.some((payment) => payment.status === 'SUCCESS' && dueOf(model, bill, payment).event);
}
