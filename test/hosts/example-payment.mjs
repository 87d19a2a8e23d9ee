import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../scripts/lib/free-port.mjs';
import { freshDatabase } from './fresh-database.mjs';
import { RunError } from './run.mjs';
import { startProgram } from './program.mjs';

/** @typedef {{ databaseUrl: string, prefix: string }} Places of the example: its database, the prefix of its queues */

/**
 * An application that makes a bill for `POST /orders`, and shows what became of the order at `GET /orders/:id`.
 *
 * @typedef {object} Example
 * @property {string} [orders] where its orders are
 * @property {string} [prefix] of the callback routes
 * @property {string[]} [programs] npm scripts that make up the application; the first listens
 * @property {Record<string, string>} [env] besides what its README names
 * @property {Record<string, unknown>} [ends] what an order says in the end
 * @property {string} [says] what its log must say
 * @property {(places: Places) => Promise<void>} [before] prepares the database once the application runs
 * @property {(places: Places) => Promise<void>} [after] looks at what the payment has left
 */

const TOKEN = 'sandbox-main-token-0123456789abcdef';
const LIMIT_MS = 60_000;

/** Starts the sandbox and the example as its README says, pays an order, and follows it to its end. */
export async function payIn(
  /** @type {string} */ folder,
  /** @type {Example} */ {
    orders = '/orders',
    prefix = '',
    programs = ['start'],
    env: more,
    ends = { status: 'paid' },
    says,
    before,
    after,
  },
  /** @type {string} */ serverUrl,
) {
  const port = await freePort();
  const shop = `http://127.0.0.1:${port}`;
  const places = { databaseUrl: await freshDatabase(serverUrl), prefix: `hosts-${process.pid}-${port}` };
  const bin = path.join(folder, '../node_modules/.bin/nestjs-payment-sandbox');
  const sandbox = startProgram(bin, ['--port', '0', '--shop-url', shop + prefix], { cwd: folder, env: process.env });
  const running = [sandbox];
  try {
    const [, service = ''] = await sandbox.says(/^Sandbox: (\S+)$/m);
    const env = {
      ...process.env,
      ...more,
      NODE_OPTIONS: '',
      NODE_ENV: 'development',
      PORT: String(port),
      DATABASE_URL: places.databaseUrl,
      QUEUE_PREFIX: places.prefix,
      PAYMENT_ACCEPTANCE_API_BASE_URL: service,
      PAYMENT_ACCEPTANCE_SHOP_ID: 'demo-main',
      PAYMENT_ACCEPTANCE_API_TOKEN: TOKEN,
    };
    for (const script of programs) {
      const program = startProgram('npm', ['run', script], { cwd: folder, env });
      running.push(program);
      if (script !== programs[0]) continue;
      await program.says(/Nest application successfully started/);
      // Nest says so before it listens.
      await until(() => answers(shop), `Nothing answers at ${shop}.`);
    }
    await before?.(places);
    const { id, payUrl } = await json(shop + orders, { amount: '100.05' });
    const bill = `${service}/sandbox/bills/${payUrl.split('/').at(-1)}`;
    await json(`${bill}/pay`, {});
    const reached = async () => {
      const order = await json(`${shop}${orders}/${id}`);
      return Object.entries(ends).every(([field, value]) => order[field] === value);
    };
    await until(reached, `The order did not become ${JSON.stringify(ends)}.`);
    const taken = async () => (await json(bill)).callbacks?.[0]?.tries?.[0]?.status === 200;
    await until(taken, 'The postback was not answered with 200.');
    if (says && !running.at(-1)?.output().includes(says)) throw new Error(`The log does not say "${says}".`);
    await after?.(places);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new RunError(error.message, running.map(({ output }) => output()).join('\n'));
  } finally {
    await Promise.all(running.map((program) => program.stop()));
  }
}

/** Posts the body, if there is one. */
async function json(/** @type {string} */ url, /** @type {object | undefined} */ body = undefined) {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await fetch(url, body && init);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

async function answers(/** @type {string} */ url) {
  return fetch(url).then(
    () => true,
    () => false,
  );
}

async function until(/** @type {() => Promise<boolean>} */ holds, /** @type {string} */ otherwise) {
  for (const end = Date.now() + LIMIT_MS; !(await holds()); await sleep(50)) {
    if (Date.now() > end) throw new Error(otherwise);
  }
}
