/** @import { PayInput, Payment } from 'nestjs-payment-sandbox' */
/** @import { SeededRandom } from './random.mjs' */

/**
 * What a payer has: the bill's amount and shop, and the ways to pay it and to have the service complete a payment.
 * @typedef {object} Visit
 * @property {SeededRandom} random
 * @property {string} amount
 * @property {'main' | 'eu'} shop
 * @property {(input: PayInput) => Promise<Payment | undefined>} pay
 * @property {(payment: string, outcome: 'success' | 'fail') => Promise<unknown>} complete
 */

const GOOD = '4111 1111 1111 1111';
const BAD = '4000 0000 0000 0002';
const IN_PROCESS = '4000 0000 0000 3220';
const STILL_NEW = '4000 0000 0000 0069';

/**
 * What payers do with a bill. `pay` takes the sandbox's way to pay and gives the payment, or undefined where no answer
 * came: whether there is one is then the sandbox's secret until the end.
 * @satisfies {Record<string, (visit: Visit) => unknown>}
 */
export const journeys = {
  paid: ({ pay }) => pay({ card: GOOD }),

  failed: ({ pay }) => pay({ card: BAD }),

  async failedThenPaid({ pay }) {
    await pay({ card: BAD });
    await pay({ card: GOOD });
  },

  /** One after the other, or in two windows at once. */
  async paidTwice({ random, pay }) {
    const first = pay({ card: GOOD });
    if (random.chance(0.5)) await first;
    await Promise.all([first, pay({ card: GOOD })]);
  },

  /** The service calls the payment failed, and changes its mind. */
  async failedThenSucceeded({ pay, complete }) {
    const payment = await pay({ card: BAD });
    if (payment) await complete(payment.id, 'success');
  },

  async tookTime({ random, pay, complete }) {
    const payment = await pay({ card: random.pick([IN_PROCESS, STILL_NEW]) });
    if (payment && random.chance(0.8))
      await complete(payment.id, random.pick(/** @type {const} */ (['success', 'fail'])));
  },

  underpaid: ({ amount, pay }) => pay({ card: GOOD, amount: changed(amount, -1n) }),

  overpaid: ({ amount, pay }) => pay({ card: GOOD, amount: changed(amount, 100n) }),

  otherCurrency: ({ shop, pay }) => pay({ card: GOOD, currency: shop === 'eu' ? 'RUB' : 'EUR' }),

  abandoned: () => undefined,
};

/**
 * An exact amount, some hundredths away.
 * @param {string} amount
 * @param {bigint} hundredths
 */
function changed(amount, hundredths) {
  const digits = String(BigInt(amount.replace('.', '')) + hundredths).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
