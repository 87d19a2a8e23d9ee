import { shown } from './lib/chart.mjs';
import { startContestant } from './lib/processes.mjs';
import { spread, target } from './lib/report.mjs';
import { interleave } from './lib/rounds.mjs';
import { seedHistory, seedShops, seedWaiting } from './lib/seeds.mjs';
import { wholePayments } from './lib/whole-payments.mjs';

/** @import { Statement } from './lib/database.mjs' */
/** @import { Context, Result } from './lib/report.mjs' */
/** @import { Samples } from './lib/rounds.mjs' */

/** @typedef {ReturnType<typeof sizesOf>} Sizes */
/** @typedef {Map<string, Statement[] | undefined>} Profiles of contestants */

export const title = 'With many shops, much that waits, and a long history';
export const order = 50;

const ROWS_OF_A_PAYMENT = 6;
const BILLS_OF_A_SHOP = 100;
const EMPTY = 'one shop';
const FULL = 'all of that';

/** What an instance asks again and again, by how it begins. */
const LOOKS = {
  'which shops have bills that are due': 'WITH RECURSIVE due',
  'the claim of bills': 'WITH shop AS',
  'the claim of deliveries': 'WITH hosted AS',
};

/** @param {Context} context */
export async function run({ quick, long, database, load, log }) {
  const sizes = sizesOf({ quick, long });
  const service = await startContestant('paying-service.mjs');
  const servers = [service];
  const contestants = [];
  for (const name of [EMPTY, FULL]) {
    const databaseUrl = await database.create();
    const server = await startContestant('paying-module.mjs', {
      adapter: 'fastify',
      databaseUrl,
      serviceUrl: service.about.url,
      shops: name === FULL ? sizes.shops : 0,
    });
    servers.push(server);
    if (name === FULL) await fill(databaseUrl, sizes, log);
    const { payments } = sizes;
    contestants.push({
      name,
      databaseUrl,
      measure: wholePayments({ server, databaseUrl, load, payments, ours: true }),
    });
  }
  const samples = await interleave(contestants, { rounds: quick ? 1 : 5, log });
  /** @type {Profiles} */
  const profiles = new Map();
  for (const { name, databaseUrl, measure } of contestants) {
    profiles.set(name, await database.profile(databaseUrl, measure));
  }
  for (const server of servers) await server.stop();
  return report(samples, profiles, sizes, long);
}

/** @param {{ quick: boolean; long: boolean }} how */
function sizesOf({ quick, long }) {
  return {
    history: quick ? 5_000 : long ? 1_700_000 : 100_000,
    shops: quick ? 100 : 10_000,
    waiting: quick ? 1_000 : 100_000,
    payments: quick ? 300 : 2_000,
  };
}

/** @param {number} number */
const amount = (number) => number.toLocaleString('en-US');

/**
 * @param {string} databaseUrl
 * @param {Sizes} sizes
 * @param {Context['log']} log
 */
async function fill(databaseUrl, { shops, waiting, history }, log) {
  log(`writing ${amount(shops)} shops, ${amount(shops * BILLS_OF_A_SHOP)} open bills, ${amount(waiting)} deliveries`);
  await seedShops(databaseUrl, shops, BILLS_OF_A_SHOP);
  await seedWaiting(databaseUrl, waiting);
  log(`writing ${amount(history * ROWS_OF_A_PAYMENT)} rows of history`);
  await seedHistory(databaseUrl, history);
}

/**
 * @param {Samples} samples
 * @param {Profiles} profiles
 * @param {Sizes} sizes
 * @param {boolean} long
 * @returns {Result}
 */
function report(samples, profiles, { shops, waiting, history }, long) {
  /** @type {(name: string, begins: string) => number} */
  const each = (name, begins) => {
    const found = profiles.get(name)?.filter(({ statement }) => statement.startsWith(begins)) ?? [];
    const calls = found.reduce((sum, { calls: count }) => sum + count, 0);
    return found.reduce((sum, { planUs, runUs }) => sum + planUs + runUs, 0) / calls;
  };
  return {
    about:
      `The same payments on an empty database with one shop, and beside ${amount(shops)} shops of a shop resolver with ` +
      `${amount(shops * BILLS_OF_A_SHOP)} open bills that are not due, ${amount(waiting)} deliveries that wait for a consumer which ` +
      `is not there, and ${amount(history * ROWS_OF_A_PAYMENT)} rows of payments that ended long ago.` +
      (long ? '' : ' With `--long`: ten million of those.'),
    targets: [
      target('Postbacks answered per second', samples.ratio(FULL, EMPTY, 'answers'), { atLeast: 0.9 }),
      target('Whole payments per second', samples.ratio(FULL, EMPTY, 'rate'), { atLeast: 0.9 }),
    ],
    tables: [
      {
        columns: ['', 'payments per second', 'answers per second', 'p99 of answers, ms', 'CPU µs', 'log, KiB'],
        rows: [EMPTY, FULL].map((name) => [
          name,
          ...['rate', 'answers', 'p99', 'cpu', 'wal'].map((figure) => spread(samples.summary(name, figure))),
        ]),
      },
      {
        caption:
          'What looks and claims take the database while payments come, in a round of its own: microseconds each.',
        columns: ['', EMPTY, FULL],
        rows: Object.entries(LOOKS).map(([look, begins]) => [
          look,
          ...[EMPTY, FULL].map((name) => shown(each(name, begins))),
        ]),
      },
    ],
  };
}
