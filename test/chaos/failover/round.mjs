import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Buyers } from '../buyers.mjs';
import { SeededRandom } from '../random.mjs';
import { heal, settledAccount } from '../settle.mjs';
import { changeFaults } from '../trouble.mjs';
import { comesBack } from './back.mjs';
import { kinds } from './kinds.mjs';
import { recoverLostCommits, unknownOutcomes } from './recovery.mjs';

/** @import { World } from '../world.mjs' */
/** @import { Account } from '../settle.mjs' */
/** @import { Seen } from '../account.mjs' */
/** @import { DatabasePair } from './pair.mjs' */
/** @import { Kind, KindName } from './kinds.mjs' */

/** @typedef {{ seen: Seen; gone: Set<string>; commitsLost: boolean }} Past */
/** @typedef {{ name: string; ms: number | undefined; restarted: boolean }} Back */
/** @typedef {{ name: string; state: string; ms: number; at: number }} Ending of a shop that was asked to end */

const BUYERS = 12;
/** A shop that is asked to end does so within this time, whatever the database does. */
export const SIGTERM_S = 15;
/** Then it is killed: how much longer it would have taken is not known. */
const PATIENCE_S = 20;
/** Buyers go on for a while when all shops are back. */
const AFTERWARDS_MS = 2_000;

/**
 * One failover under load, and the account of all that was bought so far. `held`: sessions to a server that is gone. `past`: what has been before, to which it adds (see {@link accountOf}).
 * @param {World<DatabasePair>} world
 * @param {{ kind: KindName; round: number; seed: number; loadSeconds: number; lagSeconds: number; past: Past }} options
 */
export async function runRound(world, { kind: name, round, seed, loadSeconds, lagSeconds, past }) {
  const kind = kinds[name];
  const { database: pair, shops } = world;
  const random = new SeededRandom(seed, `${name} ${round}`);
  await pair.rebuild(kind);
  const before = await countPayments(world);

  const over = new AbortController();
  const buyers = new Buyers(world, { seed: `${seed}/${name} ${round}`, dropAll: false, seen: past.seen });
  const buying = Promise.all([
    buyers.buyUntil(over.signal, BUYERS),
    changeFaults(world, () => kind.faults ?? {}, { seed }, over.signal),
  ]);
  await sleep(loadSeconds * 1000 * (0.7 + 0.6 * random.fraction()));

  const victim = random.pick(shops);
  /** @type {Promise<Ending>[]} */
  const endings = [];
  const during = (/** @type {string} */ state) => void endings.push(terminate(victim, state));
  const since = Date.now();
  const promotedAt = await kind.fail({ pair, during, pause: sleep, lagSeconds });
  const ending = endings[0] ?? terminate(victim, 'back');
  const backs = await Promise.all(
    shops.map(async (shop) => {
      // A shop that was asked to end cannot be back before it has ended.
      const from = shop === victim ? Math.max(promotedAt, (await ending).at) : promotedAt;
      const ms = await comesBack(shop, {
        since: from,
        withinS: kind.backS,
        seen: past.seen,
        name: `Probe ${seed}/${name} ${round}`,
      });
      if (ms === undefined) shop.kill(0); // the next round is to tell of itself
      return { name: shop.name, ms, restarted: shop === victim };
    }),
  );
  await sleep(AFTERWARDS_MS);
  over.abort();
  await buying;

  await heal(world, { dropAll: false }, random);
  const recovered = kind.synchronous ? undefined : await recover(world, { name, round, since, promotedAt, past });
  const result = await accountOf(world, past);
  const sigterm = await ending;
  const payments = (await countPayments(world)) - before;
  const misses = [...missesOf(kind, { backs, sigterm, ...result }), ...(recovered?.problems ?? [])];
  return { name, round, payments, ...result, backs, sigterm, recovered, held: pair.silentSessions, misses };
}

/**
 * The account of all rounds so far. `past`: what buyers were told (`seen`), the bills of which nothing is left (`gone`), and
 * whether commits were lost: then callbacks that were acknowledged are missing, and nothing can bring them back, and bills
 * that were answered may be unknown outcomes, which the tables show as such.
 * @param {World<DatabasePair>} world
 * @param {Past} past
 */
export async function accountOf(world, past) {
  const unknown = past.commitsLost ? await unknownOutcomes(world) : new Set();
  const orders = past.seen.orders.filter(({ billId }) => !unknown.has(billId));
  const result = await settledAccount(world, { seen: { ...past.seen, orders } }, past.gone);
  const missing = new Set(past.commitsLost ? result.unstored : []);
  return { ...result, lost: result.lost.filter((sentence) => !missing.has(sentence)) };
}

/**
 * The log of one shop went with its machine.
 * @param {World<DatabasePair>} world
 * @param {{ name: string; round: number; since: number; promotedAt: number; past: Past }} failed
 */
async function recover(world, { name, round, since, promotedAt, past }) {
  const others = world.shops.slice(1).map((shop) => world.logs.file(shop.name));
  const folder = path.join(world.logs.folder, `${name}-${round}`);
  fs.mkdirSync(folder);
  const recovered = await recoverLostCommits(world, { since, promotedAt, logs: others, folder });
  past.commitsLost = true;
  for (const id of recovered.gone) past.gone.add(id);
  return recovered;
}

/**
 * @param {import('../supervised.mjs').Supervised} shop
 * @param {string} state
 * @returns {Promise<Ending>}
 */
async function terminate(shop, state) {
  const ms = await shop.terminate({ withinS: PATIENCE_S, downMs: 200 });
  return { name: shop.name, state, ms, at: Date.now() };
}

/**
 * What the round has found wrong beside the account, as sentences.
 * @param {Pick<Kind, 'backS'>} kind
 * @param {Pick<Account, 'waiting'> & { backs: Back[]; sigterm: Ending }} result
 */
function missesOf({ backS }, { backs, sigterm, waiting }) {
  return [
    ...backs
      .filter(({ ms }) => ms === undefined)
      .map(({ name }) => `the ${name} was not back within ${backS} s of the promotion`),
    ...(sigterm.ms > SIGTERM_S * 1000
      ? [`the ${sigterm.name} did not end within ${SIGTERM_S} s of SIGTERM while the database was ${sigterm.state}`]
      : []),
    ...Object.entries(waiting)
      .filter(([, count]) => count > 0)
      .map(([what, count]) => `${count} ${what} did not settle in time`),
  ];
}

/** @param {World<DatabasePair>} world */
async function countPayments({ control }) {
  return (await control.bills()).reduce((sum, { payments }) => sum + payments.length, 0);
}
