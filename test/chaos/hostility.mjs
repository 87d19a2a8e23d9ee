import { request } from './http.mjs';

/** @import { Buyers } from './buyers.mjs' */
/** @import { SeededRandom } from './random.mjs' */

/** @typedef {{ orderId: string; billId: string; shop: string; amount: string }} OrderedBill */

/** What others than the service send: forged successes, changed copies, nonsense. None of it may settle anything. */
export class Hostility {
  /**
   * @param {Buyers} buyers
   * @param {SeededRandom} random
   * @param {OrderedBill} bill
   */
  constructor(buyers, random, bill) {
    this.control = buyers.control;
    this.seen = buyers.seen;
    this.random = random;
    this.bill = bill;
    this.anyShop = () => buyers.anyShop(random);
  }

  /** Before anything is paid. */
  async before() {
    const { random, bill } = this;
    if (random.chance(0.08)) await this.control.try('POST', `bills/${bill.billId}/forge`, {});
    if (random.chance(0.08)) await this.#send({ TrsId: bill.billId, OutSum: bill.amount });
    if (random.chance(0.02)) await this.#send({ TrsId: `nobody${random.whole(0, 1e9)}`, OutSum: bill.amount });
  }

  /** Copies of what the service has sent. */
  async after() {
    const { random, bill } = this;
    if (random.chance(0.05)) {
      const { callbacks = [] } = (await this.control.try('GET', `bills/${bill.billId}`)) ?? {};
      if (callbacks.length === 0) return;
      const change = random.pick([{}, { set: { OutSum: '0.01' } }, { set: { Status: 'SUCCESS' }, resign: true }]);
      await this.control.try('POST', `callbacks/${random.pick(callbacks).id}/replay`, change);
    }
    if (random.chance(0.03)) {
      const copies = Array.from({ length: 12 }, () => this.#send({ TrsId: bill.billId, OutSum: bill.amount }));
      await Promise.all(copies);
    }
  }

  /**
   * A postback of our own making. What is answered with 200 must be on record.
   * @param {{ TrsId: string; OutSum: string }} fields
   */
  async #send({ TrsId, OutSum }) {
    const { bill } = this;
    const path = `/postback/payment${bill.shop === 'eu' ? '/eu' : ''}`;
    const body = { Status: 'SUCCESS', InvId: bill.orderId, CurrencyIn: 'RUB', Commission: '0.00', OutSum, TrsId };
    const answer = await request(this.anyShop() + path, { method: 'POST', body });
    if (answer?.status === 200) this.seen.postbacks.push({ trsId: TrsId, status: 'SUCCESS', outSum: OutSum });
  }
}
