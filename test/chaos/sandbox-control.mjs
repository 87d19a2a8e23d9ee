import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError, isExiting } from '../../scripts/lib/lifecycle.mjs';
import { request } from './http.mjs';

/** @import { BillView, FaultDocument, ShopInput } from 'nestjs-payment-sandbox' */

const SHOPS = { 'demo-main': '', 'demo-eu': '/eu' };

/** The sandbox's control interface, whose server may be killed at any moment. */
export class SandboxControl {
  /** @param {string} url */
  constructor(url) {
    this.url = url;
  }

  /**
   * One try: the result, or undefined where there is none. What it did is known only from the sandbox's state.
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   */
  async try(method, path, body) {
    const answer = await request(`${this.url}/sandbox/${path}`, { method, body });
    return answer?.status === 200 ? answer.body : undefined;
  }

  /**
   * The result of what may be repeated; fails when the sandbox does not give one within a minute.
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   */
  async insist(method, path, body, timeoutMs = 8_000) {
    let answer;
    for (const end = Date.now() + 60_000; Date.now() < end && !isExiting(); await sleep(100)) {
      answer = await request(`${this.url}/sandbox/${path}`, { method, body, timeoutMs });
      if (answer?.status === 200) return answer.body;
    }
    throw new CommandError(`The sandbox did not do ${method} ${path}: ${JSON.stringify(answer)}`);
  }

  /** @param {FaultDocument} faults */
  setFaults(faults) {
    return this.insist('PUT', 'faults', faults);
  }

  /**
   * Sends the callbacks of both shops to these addresses, in this form.
   * @param {string} shopUrl
   * @param {Partial<ShopInput>} [settings]
   */
  async pointTo(shopUrl, settings = {}) {
    for (const [shop, suffix] of Object.entries(SHOPS)) {
      await this.insist('PUT', `shops/${shop}`, {
        successUrl: `${shopUrl}/redirect/payment/success${suffix}`,
        failUrl: `${shopUrl}/redirect/payment/fail${suffix}`,
        resultUrl: `${shopUrl}/postback/payment${suffix}`,
        ...settings,
      });
    }
  }

  /**
   * Every bill with its payments and callbacks.
   * @returns {Promise<BillView[]>}
   */
  async bills() {
    /** @type {{ id: string }[]} */
    const all = await this.insist('GET', 'bills');
    const ids = all.map(({ id }) => id);
    /** @type {BillView[]} */
    const bills = [];
    const readNext = async () => {
      for (let id = ids.pop(); id !== undefined; id = ids.pop()) bills.push(await this.insist('GET', `bills/${id}`));
    };
    await Promise.all(Array.from({ length: 16 }, readNext));
    return bills;
  }
}
