import { barChart, shown } from './lib/chart.mjs';
import { startContestant } from './lib/processes.mjs';
import { spread, target } from './lib/report.mjs';
import { interleave } from './lib/rounds.mjs';
import { wholePayments } from './lib/whole-payments.mjs';

/** @import { Statement } from './lib/database.mjs' */
/** @import { Context, Result } from './lib/report.mjs' */
/** @import { Samples } from './lib/rounds.mjs' */

/** @typedef {'express' | 'fastify'} Adapter */

export const title = 'Whole payments';
export const order = 30;

/** @typedef {Map<string, Statement[] | undefined>} Profiles of contestants */

const CONNECTIONS = 64;
const AT_LEAST = { express: 1.3, fastify: 1.4 };
const NAMES = { express: 'Express', fastify: 'Fastify' };
/** @param {Adapter} adapter */
const ours = (adapter) => `the module, Nest + ${NAMES[adapter]}`;
/** @param {Adapter} adapter */
const tutorial = (adapter) => `inside the request, Nest + ${NAMES[adapter]}`;

/** @param {Context} context */
export async function run({ quick, database, load, log }) {
  /** @type {Adapter[]} */
  const adapters = quick ? ['fastify'] : ['express', 'fastify'];
  const payments = quick ? 500 : 8_000;
  const service = await startContestant('paying-service.mjs');
  const servers = [service];
  /** @type {(import('./lib/rounds.mjs').Measured & { databaseUrl: string; measure: ReturnType<typeof wholePayments> })[]} */
  const contestants = [];
  /** @type {(name: string, file: string, adapter: Adapter, isOurs: boolean) => Promise<void>} */
  const add = async (name, file, adapter, isOurs) => {
    const databaseUrl = await database.create();
    const server = await startContestant(file, { adapter, databaseUrl, serviceUrl: service.about.url });
    servers.push(server);
    const measure = wholePayments({ server, databaseUrl, load, payments, ours: isOurs });
    contestants.push({ name, measure, databaseUrl });
  };
  for (const adapter of adapters) {
    await add(ours(adapter), 'paying-module.mjs', adapter, true);
    await add(tutorial(adapter), 'paying-tutorial.mjs', adapter, false);
  }
  const samples = await interleave(contestants, { rounds: quick ? 1 : 5, log });
  /** @type {Profiles} */
  const profiles = new Map();
  for (const { name, measure, databaseUrl } of contestants.slice(-2)) {
    profiles.set(name, await database.profile(databaseUrl, measure));
  }
  for (const server of servers) await server.stop();
  return report(samples, profiles, payments, adapters);
}

/**
 * @param {Samples} samples
 * @param {Profiles} profiles
 * @param {number} payments
 * @param {Adapter[]} adapters
 * @returns {Result}
 */
function report(samples, profiles, payments, adapters) {
  /** @type {(over: string, base: string) => import('./lib/statistics.mjs').Figure} */
  const rates = (over, base) => samples.ratio(over, base, 'rate');
  const names = samples.names;
  return {
    about:
      `${CONNECTIONS} connections send the postbacks of ${payments.toLocaleString('en-US')} bills. A payment counts when its order's update is ` +
      'committed. A tutorial does all of it inside the request: it asks the service, locks the order, updates it, emits an event, ' +
      'answers. The module answers when the postback is on the disk; then it asks the same service, settles, and runs a durable ' +
      'handler in the transaction that marks its delivery done.',
    targets: [
      ...adapters.map((adapter) =>
        target(
          `Whole payments per second, ${NAMES[adapter]}, against a tutorial's`,
          rates(ours(adapter), tutorial(adapter)),
          { atLeast: AT_LEAST[adapter] },
        ),
      ),
      target(
        "Processor time of the whole machine for a payment, Fastify, against a tutorial's",
        samples.ratio(ours('fastify'), tutorial('fastify'), 'machine'),
        { atMost: 0.7 },
      ),
    ],
    tables: [
      {
        caption:
          'Answers: how long the service waits for its 200, in milliseconds. Commits of the database for each payment; processor time in microseconds for each payment, of the measured process and of the whole machine.',
        columns: ['', 'payments per second', 'answers per second', 'p50', 'p99', 'commits', 'CPU µs', 'machine µs'],
        rows: names.map((name) => [
          name,
          ...['rate', 'answers', 'p50', 'p99', 'commits', 'cpu', 'machine'].map((figure) =>
            spread(samples.summary(name, figure)),
          ),
        ]),
      },
      ...[...profiles].flatMap(([name, statements]) => (statements ? [profileTable(name, statements, payments)] : [])),
    ],
    charts: {
      payments: barChart({
        title,
        unit: 'payments per second',
        bars: names.map((name) => ({
          label: name,
          ours: name.startsWith('the module'),
          ...samples.summary(name, 'rate'),
        })),
      }),
    },
    notes: [
      'Of the module nothing is configured but the shop; pools of 20 connections.',
      ...adapters.map((adapter) => whereTimeGoes(samples, adapter)),
    ].join('\n\n'),
  };
}

/**
 * The statements that the database spends most on: waiting included, and checks of foreign keys.
 * @param {string} name
 * @param {Statement[]} statements
 * @param {number} payments
 */
function profileTable(name, statements, payments) {
  /** @param {number} sum */
  const each = (sum) => shown(sum / payments);
  /** @param {string} statement */
  const text = (statement) => statement.replace(/\s+/g, ' ').replaceAll('|', '\\|').slice(0, 90);
  return {
    caption: `What the database does for a payment of "${name}", in a round of its own: microseconds, and bytes of its log.`,
    columns: ['', 'calls', 'planning µs', 'running µs', 'log'],
    rows: statements
      .filter(({ planUs, runUs }) => planUs + runUs >= 10 * payments)
      .slice(0, 8)
      .map(({ statement, calls, planUs, runUs, logBytes }) => [
        `\`${text(statement)}\``,
        ...[calls, planUs, runUs, logBytes].map(each),
      ]),
  };
}

/**
 * What the module does that a tutorial's way does not, in processor time: rows that a kill at any moment is answered from.
 * @param {Samples} samples
 * @param {Adapter} adapter
 */
function whereTimeGoes(samples, adapter) {
  /** @type {(name: string, figure: string) => number} */
  const of = (name, figure) => samples.summary(name, figure).median;
  /** @param {number} figure */
  const us = (figure) => `${shown(figure)} µs`;
  const [own, other] = [ours(adapter), tutorial(adapter)];
  /** @param {string} name */
  const behind = (name) => of(name, 'machine') - of(name, 'cpu');
  return (
    `Where the time of a payment goes on ${NAMES[adapter]}: of the whole machine's ${us(of(own, 'machine'))} (a tutorial's way: ` +
    `${us(of(other, 'machine'))}) the process takes ${us(of(own, 'cpu'))} (${us(of(other, 'cpu'))}); database, service and load take ` +
    `${us(behind(own))} (${us(behind(other))}). A tutorial changes one row. The module adds four, the postback, the payment, the event ` +
    'and the delivery, and changes seven times: the claim of the bill and its new state, the first payment of the order, the end of ' +
    "the postback, the claim and the end of the delivery, and the host's own order."
  );
}
