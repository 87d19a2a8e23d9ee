import { barChart, shown } from './lib/chart.mjs';
import { findPgbench, pgbench, query } from './lib/database.mjs';
import { workedMs } from './lib/machine.mjs';
import { startContestant } from './lib/processes.mjs';
import { spread, target } from './lib/report.mjs';
import { interleave, ratio } from './lib/rounds.mjs';
import { makePostbackTable, seedBills, seedOrders } from './lib/seeds.mjs';
import { summary } from './lib/statistics.mjs';

export const title = 'Receiving postbacks';
export const order = 10;

const BILLS = 20_000;
const CONNECTIONS = 64;
const NAMES = { express: 'Express', fastify: 'Fastify' };
const ours = (adapter) => `the module, Nest + ${NAMES[adapter]}`;
const tutorial = (adapter) => `a tutorial's handler, Nest + ${NAMES[adapter]}`;
const alone = (adapter) => `no database, Nest + ${NAMES[adapter]}`;
const BARE = 'bare Fastify + pg, group commit';
const PGBENCH = 'pgbench, one row per insert';

export async function run({ quick, database, load, log }) {
  const seconds = quick ? 1 : 4;
  const servers = [];
  const contestants = [];
  const add = async (name, file, options, reset) => {
    const server = await startContestant(file, options);
    servers.push(server);
    const fire = { url: server.about.url, requests: { module: 'lib/postback-bodies.mjs', options: { bills: BILLS } } };
    contestants.push({ name, measure: (round) => measure(server, fire, reset, round) });
  };
  const measure = async (server, fire, reset, { warmingUp }) => {
    await reset?.();
    const [before, workedBefore] = [await server.ask('usage'), workedMs()];
    const { rate, p50, p99, requests, failed, status } = await load.fire({
      ...fire,
      connections: CONNECTIONS,
      seconds: warmingUp ? Math.min(seconds, 2) : seconds,
    });
    if (failed > 0) throw new Error(`${server.name}: ${failed} answers failed: ${JSON.stringify(status)}`);
    const [worked, after] = [workedMs() - workedBefore, await server.ask('usage')];
    const cpu = ((after.cpuSeconds - before.cpuSeconds) / requests) * 1e6;
    return { rate, p50, p99, cpu, machine: (worked / requests) * 1e3 };
  };

  for (const adapter of ['express', 'fastify']) {
    const [moduleUrl, tutorialUrl] = [await database.create(), await database.create()];
    await add(ours(adapter), 'module.mjs', { adapter, databaseUrl: moduleUrl }, () =>
      query(moduleUrl, 'TRUNCATE payment_acceptance.callback'),
    );
    await seedBills(moduleUrl, BILLS);
    await add(tutorial(adapter), 'tutorial.mjs', { adapter, databaseUrl: tutorialUrl });
    await seedOrders(tutorialUrl, BILLS);
    await add(alone(adapter), 'nest-alone.mjs', { adapter });
  }
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
  return report(samples, program);
}

const INSERT = `INSERT INTO postback (id, bill_id, order_id, status, body) VALUES
  (gen_random_uuid(), 'bill-1', 'order-1', 'SUCCESS', '{"Status":"SUCCESS","InvId":"order-1","OutSum":"100.05","TrsId":"bill-1"}');\n`;

function report(samples, program) {
  const rates = (over, base) => ratio(samples, over, base, 'rate');
  const [express, fastify] = [ours('express'), ours('fastify')];
  const targets = [
    target("Nest + Fastify against a tutorial's handler on Express", rates(fastify, tutorial('express')), {
      atLeast: 12,
    }),
    target('Nest + Fastify against bare Fastify with group commit', rates(fastify, BARE), { atLeast: 0.8 }),
    target("Nest + Express against a tutorial's handler", rates(express, tutorial('express')), { atLeast: 3.5 }),
    target('Nest + Express against Nest + Express without a database', rates(express, alone('express')), {
      atLeast: 0.85,
    }),
    ...['express', 'fastify'].map((adapter) =>
      target(
        `p99 of a tutorial's handler on ${NAMES[adapter]} against the module's there`,
        ratio(samples, tutorial(adapter), ours(adapter), 'p99'),
        { atLeast: 5 },
      ),
    ),
  ];
  const names = [...samples.keys()].toSorted((a, b) => median(samples, b, 'rate') - median(samples, a, 'rate'));
  const rows = names.map((name) => [
    name,
    shown(rates(name, tutorial('express')).median),
    shown(rates(name, BARE).median),
    spread(summary(samples.get(name).rate)),
    ...['p50', 'p99', 'cpu', 'machine'].map((figure) =>
      samples.get(name)[figure] ? spread(summary(samples.get(name)[figure])) : '–',
    ),
  ]);
  const bars = names.map((name) => ({
    label: name,
    ours: name === express || name === fastify,
    ...summary(samples.get(name).rate),
  }));
  return {
    about:
      `${CONNECTIONS} connections send postbacks of ${BILLS.toLocaleString('en-US')} bills to one process at a time. The module ` +
      "validates each, checks its digest, finds its bill, compares what it claims, and answers after its row is on the disk. A tutorial's " +
      'handler validates a DTO, checks the digest, and calls `findOne` and `save`; bare Fastify inserts the body and does nothing else.',
    targets,
    tables: [
      {
        caption:
          'Times in milliseconds; processor time in microseconds for each postback, of the measured process and of the whole machine: with database, load generator and kernel.',
        columns: ['', '× tutorial', '× bare', 'per second', 'p50', 'p99', 'CPU µs', 'machine µs'],
        rows,
      },
    ],
    charts: { postbacks: barChart({ title, unit: 'postbacks per second', bars }) },
    notes: [whereTimeGoes(samples), ...(program ? [] : ['pgbench is not installed here.'])].join('\n\n'),
  };
}

/**
 * Why the module cannot come near bare Fastify: what Nest's own answer and a bare insert leave of the processors' time. On
 * Express one process is the bound, as its own answer already takes most of it.
 */
function whereTimeGoes(samples) {
  const of = (name, figure) => median(samples, name, figure);
  const behind = (name) => of(name, 'machine') - of(name, 'cpu');
  const nest = of(alone('fastify'), 'machine');
  const insert = behind(BARE) - behind(alone('fastify'));
  const whole = of(ours('fastify'), 'machine');
  const us = (figure) => `${shown(figure)} µs`;
  return (
    `Where the time of a postback goes on Fastify: of the whole machine's ${us(whole)}, Nest takes ${us(nest)} to answer at all, load ` +
    `generator included, and the database ${us(insert)} for a bare insert. Where the processors are the bound, 0.8 of bare Fastify is ` +
    `${us(of(BARE, 'machine') / 0.8)} for all of it; so ${us(of(BARE, 'machine') / 0.8 - nest - insert)} would have to do for the DTO's ` +
    `validation, the digest, masking, the queue, finding the bill, comparing what is claimed with it, and three further index entries, ` +
    `which take ${us(whole - nest - insert)}. On Express the process itself is the bound: it takes ${us(of(alone('express'), 'cpu'))} to ` +
    `answer at all, and ${us(of(ours('express'), 'cpu'))} with all that the module does; on Fastify ${us(of(alone('fastify'), 'cpu'))} and ` +
    `${us(of(ours('fastify'), 'cpu'))}. Of the p99 of ${shown(of(ours('express'), 'p99'))} ms on Express, ` +
    `${shown(of(alone('express'), 'p99'))} ms are there without a handler's work.`
  );
}

function median(samples, name, figure) {
  return summary(samples.get(name)[figure]).median;
}
