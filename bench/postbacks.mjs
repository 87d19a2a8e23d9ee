import assert from 'node:assert/strict';
import { barChart, shown } from './lib/chart.mjs';
import { findPgbench, pgbench, query } from './lib/database.mjs';
import { workedMs } from './lib/machine.mjs';
import { startContestant } from './lib/processes.mjs';
import { spread, target } from './lib/report.mjs';
import { interleave } from './lib/rounds.mjs';
import { makePostbackTable, seedBills, seedOrders } from './lib/seeds.mjs';

/** @import { Contestant } from './lib/processes.mjs' */
/** @import { Context, Result } from './lib/report.mjs' */
/** @import { Measured, Samples } from './lib/rounds.mjs' */

/** @typedef {'express' | 'fastify'} Adapter */

export const title = 'Receiving postbacks';
export const order = 10;

const BILLS = 20_000;
const CONNECTIONS = 64;
const ADAPTERS = /** @type {const} */ (['express', 'fastify']);
const NAMES = { express: 'Express', fastify: 'Fastify' };
/** @param {Adapter} adapter */
const ours = (adapter) => `the module, Nest + ${NAMES[adapter]}`;
/** @param {Adapter} adapter */
const tutorial = (adapter) => `a tutorial's handler, Nest + ${NAMES[adapter]}`;
/** @param {Adapter} adapter */
const alone = (adapter) => `no database, Nest + ${NAMES[adapter]}`;
/** The fair limit: the same work on the same table, without a framework or the module. */
const BY_HAND = 'the same by hand, Fastify + pg';
const BARE = 'bare Fastify + pg, one insert and no work';
const PGBENCH = 'pgbench, one row per insert';

/** @param {Context} context */
export async function run({ quick, database, load, log }) {
  const seconds = quick ? 1 : 4;
  /** @type {Contestant[]} */
  const servers = [];
  /** @type {Measured[]} */
  const contestants = [];
  /** @type {(name: string, file: string, options: object, reset?: () => Promise<unknown>) => Promise<void>} */
  const add = async (name, file, options, reset) => {
    const server = await startContestant(file, options);
    servers.push(server);
    const measure = async (/** @type {{ warmingUp: boolean }} */ { warmingUp }) => {
      await reset?.();
      return fire(server, load, warmingUp ? Math.min(seconds, 2) : seconds);
    };
    contestants.push({ name, measure });
  };

  const moduleUrls = [];
  for (const adapter of ADAPTERS) {
    const [moduleUrl, tutorialUrl] = [await database.create(), await database.create()];
    moduleUrls.push(moduleUrl);
    await add(ours(adapter), 'module.mjs', { adapter, databaseUrl: moduleUrl }, () =>
      query(moduleUrl, 'TRUNCATE payment_acceptance.callback'),
    );
    await seedBills(moduleUrl, BILLS);
    await add(tutorial(adapter), 'tutorial.mjs', { adapter, databaseUrl: tutorialUrl });
    await seedOrders(tutorialUrl, BILLS);
    await add(alone(adapter), 'nest-alone.mjs', { adapter });
  }
  const handUrl = await database.create();
  await migrate(handUrl);
  await seedBills(handUrl, BILLS);
  const truncate = () => query(handUrl, 'TRUNCATE payment_acceptance.callback');
  await add(BY_HAND, 'by-hand.mjs', { databaseUrl: handUrl }, truncate);
  const bareUrl = await database.create();
  await makePostbackTable(bareUrl);
  await add(BARE, 'bare-fastify.mjs', { databaseUrl: bareUrl }, () => query(bareUrl, 'TRUNCATE postback'));
  const program = findPgbench();
  if (program) {
    contestants.push({
      name: PGBENCH,
      measure: async () => {
        await query(bareUrl, 'TRUNCATE postback');
        return pgbench(program, bareUrl, { script: INSERT, clients: CONNECTIONS, seconds: Math.max(2, seconds) });
      },
    });
  }

  const samples = await interleave(contestants, { rounds: quick ? 1 : 5, log });
  for (const server of servers) await server.stop();
  await compareRows(moduleUrls, handUrl);
  return report(samples, program);
}

/**
 * @param {Contestant} server
 * @param {Context['load']} load
 * @param {number} seconds
 */
async function fire(server, load, seconds) {
  const [before, workedBefore] = [await server.ask('usage'), workedMs()];
  const { rate, p50, p99, requests, failed, status } = await load.fire({
    url: server.about.url,
    requests: { module: 'lib/postback-bodies.mjs', options: { bills: BILLS } },
    connections: CONNECTIONS,
    seconds,
  });
  if (failed > 0) throw new Error(`${server.name}: ${failed} answers failed: ${JSON.stringify(status)}`);
  const [worked, after] = [workedMs() - workedBefore, await server.ask('usage')];
  const cpu = ((after.cpuSeconds - before.cpuSeconds) / requests) * 1e6;
  return { rate, p50, p99, cpu, machine: (worked / requests) * 1e3 };
}

/**
 * The module makes its tables when it starts.
 * @param {string} databaseUrl
 */
async function migrate(databaseUrl) {
  const server = await startContestant('module.mjs', { adapter: 'fastify', databaseUrl });
  await server.stop();
}

/**
 * What is written by hand is only fair where it leaves the same row as the module.
 * @param {string[]} moduleUrls
 * @param {string} handUrl
 */
async function compareRows(moduleUrls, handUrl) {
  const [first, ...others] = await Promise.all([handUrl, ...moduleUrls].map((url) => query(url, ROW)));
  for (const other of others) assert.deepEqual(other, first);
}

const ROW = `SELECT kind, c.shop, b.order_id AS bill, c.bill_id, c.order_id, status, digest, corroboration, fields, pending,
  asks, outcome, consumed_at, due_at <= received_at AS due, uuid_extract_version(c.id) AS version
  FROM payment_acceptance.callback c JOIN payment_acceptance.bill b ON b.intent_id = c.intent_id WHERE c.bill_id = 'bill-0' LIMIT 1`;

const INSERT = `INSERT INTO postback (id, bill_id, order_id, status, body) VALUES
  (gen_random_uuid(), 'bill-1', 'order-1', 'SUCCESS', '{"Status":"SUCCESS","InvId":"order-1","OutSum":"100.05","TrsId":"bill-1"}');\n`;

/**
 * @param {Samples} samples
 * @param {string | undefined} program pgbench
 * @returns {Result}
 */
function report(samples, program) {
  /** @type {(over: string, base: string) => import('./lib/statistics.mjs').Figure} */
  const rates = (over, base) => samples.ratio(over, base, 'rate');
  const [express, fastify] = [ours('express'), ours('fastify')];
  const targets = [
    target('Nest + Fastify against the same work by hand', rates(fastify, BY_HAND), { atLeast: 0.85 }),
    target("Nest + Fastify against a tutorial's handler on Express", rates(fastify, tutorial('express')), {
      atLeast: 14,
    }),
    target("Nest + Express against a tutorial's handler", rates(express, tutorial('express')), { atLeast: 5 }),
    target('Nest + Express against Nest + Express without a database', rates(express, alone('express')), {
      atLeast: 0.85,
    }),
    ...ADAPTERS.map((adapter) =>
      target(
        `p99 of a tutorial's handler on ${NAMES[adapter]} against the module's there`,
        samples.ratio(tutorial(adapter), ours(adapter), 'p99'),
        { atLeast: 5 },
      ),
    ),
  ];
  const names = samples.names.toSorted((a, b) => median(samples, b, 'rate') - median(samples, a, 'rate'));
  const rows = names.map((name) => [
    name,
    shown(rates(name, tutorial('express')).median),
    shown(rates(name, BY_HAND).median),
    spread(samples.summary(name, 'rate')),
    ...['p50', 'p99', 'cpu', 'machine'].map((figure) =>
      samples.has(name, figure) ? spread(samples.summary(name, figure)) : '–',
    ),
  ]);
  const bars = names.map((name) => ({
    label: name,
    ours: name === express || name === fastify,
    ...samples.summary(name, 'rate'),
  }));
  return {
    about:
      `${CONNECTIONS} connections send postbacks of ${BILLS.toLocaleString('en-US')} bills to one process at a time. The module ` +
      "validates each, checks its digest, finds its bill, compares what it claims, and answers after its row is on the disk. A tutorial's " +
      'handler validates a DTO, checks the digest, and calls `findOne` and `save`. By hand: all that the module does, on its table with its indexes, ' +
      'many in one commit, in one file for Fastify and `pg` that knows neither options nor what is out of the ordinary; that both leave the same row is ' +
      'compared. Bare Fastify inserts the body into a table of its own and does nothing else.',
    targets,
    tables: [
      {
        caption:
          'Times in milliseconds; processor time in microseconds for each postback, of the measured process and of the whole machine: with database, load generator and kernel.',
        columns: ['', '× tutorial', '× by hand', 'per second', 'p50', 'p99', 'CPU µs', 'machine µs'],
        rows,
      },
    ],
    charts: { postbacks: barChart({ title, unit: 'postbacks per second', bars }) },
    notes: [whereTimeGoes(samples), ...(program ? [] : ['pgbench is not installed here.'])].join('\n\n'),
  };
}

/**
 * What of it is the work itself, what Nest's answer, and what the module's.
 * @param {Samples} samples
 */
function whereTimeGoes(samples) {
  /** @type {(name: string, figure: string) => number} */
  const of = (name, figure) => median(samples, name, figure);
  /** @param {string} name */
  const behind = (name) => of(name, 'machine') - of(name, 'cpu');
  /** @param {number} figure */
  const us = (figure) => `${shown(figure)} µs`;
  /** @type {(figure: string, name: string) => string} */
  const both = (figure, name) => `${us(of(ours('fastify'), figure))} (by hand: ${us(of(name, figure))})`;
  return (
    `Where the time of a postback goes on Fastify: of the whole machine's ${both('machine', BY_HAND)}, the process takes ` +
    `${both('cpu', BY_HAND)}, the database and the load ${us(behind(ours('fastify')))} (${us(behind(BY_HAND))}). Nest alone answers in ` +
    `${us(of(alone('fastify'), 'cpu'))} of the process. On Express the process itself is the bound: it takes ` +
    `${us(of(alone('express'), 'cpu'))} to answer at all, and ${us(of(ours('express'), 'cpu'))} with all that the module does. Of the p99 of ` +
    `${shown(of(ours('express'), 'p99'))} ms there, ${shown(of(alone('express'), 'p99'))} ms are there without a handler's work.`
  );
}

/**
 * @param {Samples} samples
 * @param {string} name
 * @param {string} figure
 */
function median(samples, name, figure) {
  return samples.summary(name, figure).median;
}
