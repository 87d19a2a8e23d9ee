/** @import { FaultDocument } from 'nestjs-payment-sandbox' */
/** @import { DatabasePair } from './pair.mjs' */

/**
 * @typedef {object} Failing
 * @property {DatabasePair} pair
 * @property {(state: string) => void} during
 * @property {(ms: number) => Promise<unknown>} pause
 * @property {number} lagSeconds
 */

/** @typedef {'kill' | 'silent' | 'switchover' | 'lagging'} KindName */

/**
 * @typedef {object} Kind
 * @property {('postgres' | 'mariadb')[]} on
 * @property {boolean} synchronous whether commits wait for the standby
 * @property {number} backS
 * @property {string} says
 * @property {FaultDocument} [faults]
 * @property {(failing: Failing) => Promise<number>} fail
 */

/** How long a manager takes to notice, and a slow proxy or DNS to follow. */
const NOTICED_MS = 3_000;

/**
 * The databases that each kind can be tried on: of MariaDB there is no demoted primary here.
 * @type {('postgres' | 'mariadb')[]}
 */
const BOTH = ['postgres', 'mariadb'];

/**
 * What can happen to a primary. `fail` makes it happen: `pair` is the database, `during` ends one of the shops in the
 * state that it leads to, and `pause` waits. Gives the instant from which the other server took writes.
 * `backS`: within this time of it each shop is back.
 * @type {Record<KindName, Kind>}
 */
export const kinds = {
  kill: {
    on: BOTH,
    synchronous: true,
    backS: 30,
    says: 'the primary killed, its sessions cut',
    async fail({ pair, during, pause }) {
      await pair.killPrimary();
      during('gone');
      await pause(NOTICED_MS);
      const promotedAt = await pair.promote();
      pair.follow();
      return promotedAt;
    },
  },

  silent: {
    on: BOTH,
    synchronous: true,
    backS: 30,
    says: 'the primary vanished, its sessions open and silent for ever',
    async fail({ pair, during, pause }) {
      await pair.vanishPrimary();
      await pause(NOTICED_MS); // statements hang, and fill the pools
      during('silent');
      await pause(NOTICED_MS * 2);
      const promotedAt = await pair.promote();
      pair.follow();
      return promotedAt;
    },
  },

  switchover: {
    on: ['postgres'],
    synchronous: true,
    backS: 15,
    says: 'the primary back as a read-only standby, the sessions to it kept',
    async fail({ pair, during, pause }) {
      const promotedAt = await pair.switchOver();
      await pause(NOTICED_MS / 2); // until sessions are there
      during('read-only');
      await pause(NOTICED_MS);
      pair.follow();
      return promotedAt;
    },
  },

  lagging: {
    on: BOTH,
    synchronous: false,
    backS: 30,
    says: 'the primary killed, its standby far behind: commits are lost',
    /** So that of some bills no postback is left. */
    faults: { postbacks: { drop: 0.3 } },
    async fail(failing) {
      await failing.pair.cutReplication();
      await failing.pause(failing.lagSeconds * 1000);
      return kinds.kill.fail(failing);
    },
  },
};

/** Those that can be tried on the database of this run. */
export function kindsHere() {
  const database = process.env.TEST_DATABASE === 'mariadb' ? 'mariadb' : 'postgres';
  const all = /** @type {KindName[]} */ (Object.keys(kinds));
  return all.filter((name) => kinds[name].on.includes(database));
}
