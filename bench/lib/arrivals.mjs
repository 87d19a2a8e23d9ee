import { once } from 'node:events';
import net from 'node:net';
import { lengthOf, messagesFor, statusOf } from './messages.mjs';
import { quantile } from './statistics.mjs';

/** @import { Requests } from './messages.mjs' */

/** @typedef {{ message: Buffer; since: number }} Request */
/** @typedef {{ socket: net.Socket; request: Request | undefined; text: string }} Connection */

/**
 * @typedef {object} State
 * @property {Connection[]} idle
 * @property {Request[]} waiting
 * @property {number[]} times until the answer, in milliseconds
 * @property {Record<string, number>} status answers by status
 * @property {number} open requests without an answer yet
 * @property {number} failed
 * @property {() => void} done
 */

/** How often it is looked which requests have their moment now: finer than anything that is measured of them. */
const TICK_MS = 2;

/**
 * Sends requests at the moments of a schedule, whatever becomes of those before: payers do not wait for each other. One that
 * finds no connection free waits for one, and its time runs from its moment on all the same.
 *
 * Request `n` had its moment at `beganAt + n * everyMs`, in milliseconds since 1970; `p50` and `p99` are of the times until
 * the answer; `status` are answers by status, and `failed` how many were none or no success.
 *
 * @typedef {object} Arrivals
 * @property {string} url
 * @property {Requests} requests
 * @property {number} perSecond how many arrive, evenly
 * @property {number} seconds
 * @property {number} [connections]
 * @param {Arrivals} arrivals
 */
export async function arrive({ url, requests, perSecond, seconds, connections = 64 }) {
  const target = new URL(url);
  const messages = await messagesFor(target, requests);
  const count = Math.round(perSecond * seconds);
  const everyMs = 1000 / perSecond;
  /** @type {State} */
  const state = { idle: [], waiting: [], times: [], status: {}, open: count, failed: 0, done: () => {} };
  for (let index = 0; index < connections; index++) state.idle.push(await connect(target, state));
  const all = new Promise((done) => (state.done = () => done(undefined)));
  const [beganAt, began] = [Date.now(), performance.now()];
  let next = 0;
  const timer = setInterval(() => {
    for (; next < count && performance.now() - began >= next * everyMs; next++) {
      const message = messages[next % messages.length];
      if (message) state.waiting.push({ message, since: began + next * everyMs });
    }
    serve(state);
    if (next === count) clearInterval(timer);
  }, TICK_MS);
  await all;
  for (const connection of state.idle) connection.socket.destroy();
  const sorted = Float64Array.from(state.times).sort();
  const { failed, status } = state;
  return { beganAt, everyMs, p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), failed, status };
}

/** @param {State} state */
function serve({ idle, waiting }) {
  while (idle.length > 0 && waiting.length > 0) {
    const [connection, request] = [idle.shift(), waiting.shift()];
    if (!connection || !request) return;
    connection.request = request;
    connection.socket.write(request.message);
  }
}

/**
 * @param {URL} target
 * @param {State} state
 * @returns {Promise<Connection>}
 */
async function connect(target, state) {
  const socket = net.connect({ host: target.hostname, port: Number(target.port), noDelay: true });
  await once(socket, 'connect');
  /** @type {Connection} */
  const connection = { socket, request: undefined, text: '' };
  /** @param {string} status */
  const end = (status) => {
    state.times.push(performance.now() - (connection.request?.since ?? NaN));
    state.status[status] = (state.status[status] ?? 0) + 1;
    if (!(Number(status) < 400)) state.failed++;
    connection.request = undefined;
    state.open--;
    if (state.open === 0) state.done();
  };
  socket.on('data', (chunk) => {
    connection.text += chunk.toString('latin1');
    const length = lengthOf(connection.text);
    if (length === undefined || connection.text.length < length) return;
    end(statusOf(connection.text));
    connection.text = connection.text.slice(length);
    state.idle.push(connection);
    serve(state);
  });
  socket.on('error', () => {});
  socket.on('close', async () => {
    state.idle = state.idle.filter((other) => other !== connection);
    if (connection.request) end('none');
    if (state.open > 0) state.idle.push(await connect(target, state));
  });
  return connection;
}
