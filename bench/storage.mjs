import { setTimeout as sleep } from 'node:timers/promises';
import { shown } from './lib/chart.mjs';
import { connected, query } from './lib/database.mjs';
import { startContestant } from './lib/processes.mjs';
import { seedShopOrders } from './lib/seeds.mjs';

/** @import { Context, Result } from './lib/report.mjs' */

export const title = 'Disk, log and memory for a million payments';
export const order = 58;

/** What shops of half a million payments a month have between two checkpoints of PostgreSQL's default five minutes. */
const BETWEEN_CHECKPOINTS = 50;
/** So few that hardly two of them share a page. */
const FAR_APART = 100;
const CALLERS = 32;
const MILLION = 1_000_000;
const MEBIBYTE = 1024 * 1024;
const GIBIBYTE = 1024 * MEBIBYTE;

/** @typedef {{ relation: string; rows: number; heap: number; indexes: number }} Size of a table, in rows and bytes */
/** @typedef {{ of: string; each: number }} Logged bytes of the log for each payment or check */
/** @typedef {{ at: string; rss: number; heap: number }} Memory of the process, in MiB */

/**
 * Bytes, not times: they do not mind what else the machine does.
 * @param {Context} context
 */
export async function run({ quick, database, load, log }) {
  const sizes = quick ? { payments: 500, checks: 200, groups: 2 } : { payments: 30_000, checks: 10_000, groups: 10 };
  const databaseUrl = await database.create();
  const service = await startContestant('paying-service.mjs');
  const server = await startContestant(
    'paying-module.mjs',
    { adapter: 'fastify', databaseUrl, serviceUrl: service.about.url },
    { nodeOptions: ['--expose-gc'] },
  );
  /** @type {Memory[]} */
  const memory = [];
  /** @param {string} at */
  const remember = async (at) => {
    const { rss, heapUsed, external } = await server.ask('usage');
    memory.push({ at, rss: rss / MEBIBYTE, heap: (heapUsed + external) / MEBIBYTE });
  };
  let from = 0;
  /** @param {number} count */
  const create = (count) => server.ask('create', { from, count, abreast: CALLERS });
  /** @type {(count: number, unpaid: number) => Promise<void>} until no more than these orders are unpaid */
  const pay = async (count, unpaid) => {
    const requests = { module: 'lib/postback-bodies.mjs', options: { bills: count, from } };
    const { failed, status } = await load.fire({ url: server.about.url, requests, connections: 64, count });
    if (failed > 0) throw new Error(`${failed} answers failed: ${JSON.stringify(status)}`);
    await until(databaseUrl, `SELECT count(*)::int AS count FROM shop_order WHERE status <> 'paid'`, unpaid);
    from += count;
  };
  /** @type {Logged[]} */
  const logged = [];
  /** @type {(of: string, each: number) => void} */
  const keep = (of, each) => {
    logged.push({ of, each });
    log(`${of}: ${shown(each / 1024)} KiB of log each`);
  };
  /** @type {(of: string, count: number, work: () => Promise<unknown>) => Promise<void>} */
  const measure = async (of, count, work) => {
    const before = await walBytes(databaseUrl);
    await work();
    keep(of, ((await walBytes(databaseUrl)) - before) / count);
  };
  /** @type {(of: string, groups: number, count: number, order: string) => Promise<void>} a checkpoint before each group */
  const measureChecks = async (of, groups, count, order) => {
    let bytes = 0;
    for (let group = 0; group < groups; group++) {
      await dueSoon(databaseUrl, count, order);
      await query(databaseUrl, 'CHECKPOINT');
      const before = await walBytes(databaseUrl);
      await until(databaseUrl, `SELECT count(*)::int FROM payment_acceptance.bill WHERE ${IS_SOON}`, 0);
      bytes += (await walBytes(databaseUrl)) - before;
    }
    keep(of, bytes / groups / count);
  };

  await remember('after the start');
  const { payments, checks, groups } = sizes;
  await seedShopOrders(databaseUrl, payments);
  await measure('`createBill`, many at once', payments, () => create(payments));
  await measure('postback, check, settlement, delivery, many at once', payments, () => pay(payments, 0));
  await remember(`after ${amount(payments)} payments`);
  await query(databaseUrl, 'VACUUM ANALYZE');
  const tables = await sizesOf(databaseUrl);
  await measureChecks('a check that finds nothing new, of bills that lie side by side', 1, checks, 'intent_id');
  await measureChecks('the same, of bills far apart', groups, FAR_APART, 'md5(intent_id::text)');
  await remember(`after ${amount(checks + groups * FAR_APART)} checks more`);
  const quiet = groups * BETWEEN_CHECKPOINTS;
  await seedShopOrders(databaseUrl, quiet, from);
  await measure(`a whole payment, ${BETWEEN_CHECKPOINTS} between two checkpoints`, quiet, async () => {
    for (let unpaid = quiet - BETWEEN_CHECKPOINTS; unpaid >= 0; unpaid -= BETWEEN_CHECKPOINTS) {
      await query(databaseUrl, 'CHECKPOINT');
      await create(BETWEEN_CHECKPOINTS);
      await pay(BETWEEN_CHECKPOINTS, unpaid);
    }
  });
  await server.stop();
  await service.stop();
  return report({ tables, logged, memory, payments });
}

/** The checks that follow a payment are hours apart. */
const IS_SOON = `next_check_at < now() + interval '1 hour'`;

/**
 * Has paid bills checked in a moment. What that itself writes is not of the check.
 * @param {string} url
 * @param {number} bills
 * @param {string} order
 */
async function dueSoon(url, bills, order) {
  await query(
    url,
    `UPDATE payment_acceptance.bill SET next_check_at = now() + interval '2 seconds' WHERE intent_id IN
       (SELECT intent_id FROM payment_acceptance.bill WHERE NOT ${IS_SOON} ORDER BY checks, ${order} LIMIT $1)`,
    [bills],
  );
}

/** How long a machine may take for all of it. */
const LIMIT_MS = 20 * 60_000;

/**
 * Waits until a statement counts no more than `most`.
 * @param {string} url
 * @param {string} statement
 * @param {number} most
 */
async function until(url, statement, most) {
  const end = performance.now() + LIMIT_MS;
  await connected(url, async (ask) => {
    for (;;) {
      const [row] = await ask(statement);
      if (row?.count <= most) return;
      if (performance.now() > end) throw new Error(`${row?.count} are left of: ${statement}`);
      await sleep(100);
    }
  });
}

/**
 * What the server has written to its log.
 * @param {string} url
 * @returns {Promise<number>}
 */
async function walBytes(url) {
  const [row] = await query(url, `SELECT (pg_current_wal_insert_lsn() - '0/0')::float8 AS bytes`);
  return row?.bytes;
}

/**
 * The module's tables that hold something for each payment.
 * @param {string} url
 * @returns {Promise<Size[]>}
 */
function sizesOf(url) {
  return query(
    url,
    `SELECT relname AS relation, n_live_tup::float8 AS rows, pg_table_size(relid)::float8 AS heap, pg_indexes_size(relid)::float8 AS indexes
     FROM pg_stat_user_tables WHERE schemaname = 'payment_acceptance' AND n_live_tup > 100
     ORDER BY pg_total_relation_size(relid) DESC`,
  );
}

/** @param {number} number */
const amount = (number) => number.toLocaleString('en-US');

/**
 * @param {{ tables: Size[]; logged: Logged[]; memory: Memory[]; payments: number }} measured
 * @returns {Result}
 */
function report({ tables, logged, memory, payments }) {
  /** @param {number} bytes */
  const each = (bytes) => Math.round(bytes / payments);
  /** @param {number} bytes */
  const ofAMillion = (bytes) => shown((bytes / payments) * (MILLION / GIBIBYTE));
  /** @type {(name: string, sum: Omit<Size, 'relation'>) => (string | number)[]} */
  const row = (name, { rows, heap, indexes }) => [
    name,
    shown(rows / payments),
    each(heap),
    each(indexes),
    each(heap + indexes),
    ofAMillion(heap + indexes),
  ];
  const all = tables.reduce(
    (sum, { rows, heap, indexes }) => ({
      rows: sum.rows + rows,
      heap: sum.heap + heap,
      indexes: sum.indexes + indexes,
    }),
    { rows: 0, heap: 0, indexes: 0 },
  );
  return {
    about:
      `${amount(payments)} payments from \`createBill\` to the commit of a durable handler, by one process on Fastify: one postback, one payment ` +
      'and one consumer each, descriptions of 27 characters, ids of the service of a dozen. A million is this, extrapolated: ' +
      'sizes grow with the rows, and the depth of an index adds little.',
    tables: [
      {
        caption: 'Bytes for each payment, after a VACUUM, and GiB for a million.',
        columns: ['', 'rows', 'table', 'indexes', 'together', 'GiB a million'],
        rows: [...tables.map((table) => row(`\`${table.relation}\``, table)), row('all', all)],
      },
      {
        caption:
          "What PostgreSQL writes to its log. After each checkpoint the first change of a page logs the whole page: where few payments share a page until the next one, that is most of it. Far apart are bills whose pages no other check changes before the next checkpoint: the most that a check can take. The handler's own update of one row is included.",
        columns: ['', 'KiB each', 'GiB a million'],
        rows: logged.map(({ of, each: bytes }) => [of, shown(bytes / 1024), shown((bytes * MILLION) / GIBIBYTE)]),
      },
      {
        caption: 'Memory of the process, MiB; the heap after a collection.',
        columns: ['', 'resident', 'heap'],
        rows: memory.map(({ at, rss, heap }) => [at, shown(rss), shown(heap)]),
      },
    ],
  };
}
