import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../scripts/lib/errors.mjs';
import { CommandError } from '../../scripts/lib/lifecycle.mjs';

/** @import { SeededRandom } from '../chaos/random.mjs' */
/** @import { Supervised } from '../chaos/supervised.mjs' */
/** @import { World } from '../chaos/world.mjs' */

const UP_S = 60;
const LAST_LINES = 12;

/** The instances of both releases: how they come, go and die while others take the traffic. */
export class Fleet {
  /**
   * Where a load balancer sends buyers and callbacks: the same list all the time.
   * @type {Supervised[]}
   */
  inService = [];
  restarts = 0;

  /**
   * @param {Pick<World, 'control' | 'logs'>} world
   * @param {SeededRandom} random
   */
  constructor({ control, logs }, random) {
    this.control = control;
    this.logs = logs;
    this.random = random;
  }

  /** @param {Supervised} shop */
  async start(shop) {
    await this.#up(shop, () => shop.begin());
    this.inService.push(shop);
    await this.control.pointTo(shop.url);
  }

  /**
   * Takes it out of the traffic first.
   * @param {Supervised} shop
   */
  async stop(shop) {
    this.inService.splice(this.inService.indexOf(shop), 1);
    await this.control.pointTo(this.random.pick(this.inService).url);
    await shop.end();
  }

  /** @param {Supervised} shop */
  async restart(shop) {
    await this.stop(shop);
    await this.start(shop);
    this.restarts += 1;
  }

  /**
   * At some instant, in the middle of whatever it does; resolves when it is back.
   * @param {Supervised} shop
   */
  async kill(shop) {
    await sleep(this.random.wait(400));
    shop.kill(this.random.wait(400));
    while (shop.isReady) await sleep(20);
    await this.#up(shop, () => shop.becomesReady(UP_S));
  }

  /**
   * A release that does not start says why in its log.
   * @param {Supervised} shop
   * @param {() => Promise<void>} wait
   */
  async #up({ name }, wait) {
    try {
      await wait();
    } catch (error) {
      const end = this.logs.of(name).trim().split('\n').slice(-LAST_LINES).join('\n');
      throw new CommandError(`${messageOf(error)} Its log ends:\
${end}`);
    }
  }
}
