import { setTimeout as sleep } from 'node:timers/promises';
import { request } from './http.mjs';
import { Hostility } from './hostility.mjs';
import { journeys } from './journeys.mjs';
import { SeededRandom } from './random.mjs';

/** @import { PayInput, PayResult, Payment, Redirect } from 'nestjs-payment-sandbox' */
/** @import { Seen } from './account.mjs' */
/** @import { World } from './world.mjs' */

const JOURNEYS = {
  paid: 60,
  failed: 6,
  failedThenPaid: 8,
  paidTwice: 5,
  failedThenSucceeded: 4,
  tookTime: 4,
  underpaid: 4,
  overpaid: 3,
  otherCurrency: 2,
  abandoned: 4,
};

/**
 * The load: buyers who order, pay in all sorts of ways and come back, and others who forge and copy callbacks.
 * `seen` is what they were told, to be held against what is recorded in the end, and by which shop they got their bills.
 */
export class Buyers {
  counts = { ordered: 0, refused: 0, cameBack: 0, paid: 0 };

  /**
   * `seen`: what others before them were told; it goes on.
   * @param {Pick<World, 'shops' | 'control'>} world
   * @param {{ seed: number | string; dropAll: boolean; seen?: Seen }} options
   */
  constructor({ shops, control }, { seed, dropAll, seen = { orders: [], postbacks: [], redirects: [] } }) {
    this.seen = seen;
    this.shops = shops;
    this.control = control;
    this.seed = seed;
    this.dropAll = dropAll;
  }

  /**
   * Buys until the signal; resolves when the last of them has finished.
   * @param {AbortSignal} signal
   * @param {number} count
   */
  async buyUntil(signal, count) {
    /** @param {number} number */
    const buyer = async (number) => {
      const random = new SeededRandom(this.seed, `buyer ${number}`);
      for (let order = 1; !signal.aborted; order++) await this.#buy(random, `Chaos ${this.seed}/${number}/${order}`);
    };
    await Promise.all(Array.from({ length: count }, (_, number) => buyer(number)));
  }

  /**
   * The address of a shop, as a load balancer would choose it: mostly one that is up.
   * @param {SeededRandom} random
   */
  anyShop(random) {
    const up = this.shops.filter(({ isReady }) => isReady);
    return random.pick(up.length > 0 && random.chance(0.9) ? up : this.shops).url;
  }

  /**
   * @param {SeededRandom} random
   * @param {string} description
   */
  async #buy(random, description) {
    await sleep(random.wait(150));
    const amount = `${random.whole(1, 9_999)}.${String(random.whole(0, 99)).padStart(2, '0')}`;
    const shop = random.pick(/** @type {const} */ (['main', 'eu']));
    const journey = journeys[random.weighted(JOURNEYS)];
    const bill =
      (await this.#order(random, { shop, amount, description })) ?? (await this.#comeBack(random, description));
    if (!bill) return;

    const hostility = new Hostility(this, random, { ...bill, shop, amount });
    if (!this.dropAll) await hostility.before();
    /** @param {PayInput} input */
    const pay = (input) => this.#pay(random, bill.billId, input);
    /** @param {string} payment @param {'success' | 'fail'} outcome */
    const complete = (payment, outcome) => this.control.try('POST', `payments/${payment}/complete`, { outcome });
    await journey({ random, amount, shop, pay, complete });
    if (!this.dropAll) await hostility.after();
  }

  /**
   * @param {SeededRandom} random
   * @param {{ shop: string; amount: string; description: string }} order
   */
  async #order(random, order) {
    this.counts.ordered += 1;
    const shop = this.anyShop(random);
    const answer = await request(`${shop}/api/orders`, { method: 'POST', body: order });
    if (answer?.status !== 201) {
      this.counts.refused += 1;
      return undefined;
    }
    const { id, billId } = answer.body;
    this.seen.orders.push({ id, billId, shop });
    return { orderId: id, billId };
  }

  /**
   * The answer was bad, or did not come: the buyer looks for the order and has it paid, perhaps with two clicks.
   * @param {SeededRandom} random
   * @param {string} description
   */
  async #comeBack(random, description) {
    await sleep(random.wait(300));
    const orders = await request(`${this.anyShop(random)}/api/orders`);
    const order = Array.isArray(orders?.body) && orders.body.find((each) => each.description === description);
    if (!order) return undefined;
    const clicks = Array.from({ length: random.whole(1, 2) }, () => this.anyShop(random));
    const answers = await Promise.all(
      clicks.map((url) => request(`${url}/orders/${order.id}/pay`, { method: 'POST', form: {} })),
    );
    for (const [index, answer] of answers.entries()) {
      const billId = answer?.status === 303 && /\/transfer\/(\w+)$/.exec(answer.location ?? '')?.[1];
      if (!billId) continue;
      this.counts.cameBack += 1;
      this.seen.orders.push({ id: order.id, billId, shop: clicks[index] });
      return { orderId: order.id, billId };
    }
    return undefined;
  }

  /**
   * Pays, and goes back to the shop with the redirect, or closes the browser.
   * @param {SeededRandom} random
   * @param {string} billId
   * @param {PayInput} input
   * @returns {Promise<Payment | undefined>}
   */
  async #pay(random, billId, input) {
    await sleep(random.wait(100));
    /** @type {PayResult | undefined} */
    const paid = await this.control.try('POST', `bills/${billId}/pay`, input);
    if (paid) this.counts.paid += 1;
    if (paid?.redirect && !this.dropAll && random.chance(0.5)) await this.#goBack(random, paid.redirect);
    return paid?.payment;
  }

  /**
   * As a browser does: posts the fields, follows the 303 unless it is closed. Some reload, and so post again.
   * @param {SeededRandom} random
   * @param {Redirect} redirect
   */
  async #goBack(random, { url, fields }) {
    const target = new URL(new URL(url).pathname, this.anyShop(random));
    for (let times = random.chance(0.2) ? 3 : 1; times > 0; times--) {
      const answer = await request(target, { method: 'POST', form: fields });
      if (answer?.status !== 303) continue;
      const kind = target.pathname.includes('/success') ? 'redirect-success' : 'redirect-fail';
      this.seen.redirects.push({ kind, orderId: fields.InvId });
      if (random.chance(0.3)) await request(new URL(answer.location ?? '', target));
    }
  }
}
