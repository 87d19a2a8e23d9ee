import net from 'node:net';
import { lengthOf, messagesFor, statusOf } from './messages.mjs';
import { quantile } from './statistics.mjs';

/** How often it is looked which requests have their moment now: finer than anything that is measured of them. */
const TICK_MS = 2;

/**
 * Sends requests at the moments of a schedule, whatever becomes of those before: payers do not wait for each other. One that
 * finds no connection free waits for one, and its time runs from its moment on all the same.
 *
 * @param perSecond how many arrive, evenly
 * @returns `{ beganAt, everyMs, p50, p99, failed, status }`: request `n` had its moment at `beganAt + n * everyMs`, in
 *   milliseconds since 1970; times until the answer; answers by status, and how many were none or no success
 */
export async function arrive({ url, requests, perSecond, seconds, connections = 64 }) {
  const target = new URL(url);
  const messages = await messagesFor(target, requests);
  const count = Math.round(perSecond * seconds);
  const everyMs = 1000 / perSecond;
  const state = { idle: [], waiting: [], times: [], status: {}, open: count, failed: 0 };
  for (let index = 0; index < connections; index++) state.idle.push(await connect(target, state));
  const all = new Promise((done) => (state.done = done));
  const [beganAt, began] = [Date.now(), performance.now()];
  let next = 0;
  const timer = setInterval(() => {
    for (; next < count && performance.now() - began >= next * everyMs; next++) {
      state.waiting.push({ message: messages[next % messages.length], since: began + next * everyMs });
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

function serve({ idle, waiting }) {
  while (idle.length > 0 && waiting.length > 0) {
    const connection = idle.shift();
    connection.request = waiting.shift();
    connection.socket.write(connection.request.message);
  }
}

async function connect({ hostname, port }, state) {
  const socket = net.connect({ host: hostname, port, noDelay: true });
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  const connection = { socket, request: undefined, text: '' };
  const end = (status) => {
    state.times.push(performance.now() - connection.request.since);
    state.status[status] = (state.status[status] ?? 0) + 1;
    if (!(status < 400)) state.failed++;
    connection.request = undefined;
    state.open--;
    if (state.open === 0) state.done();
  };
  socket.on('data', (chunk) => {
    connection.text += chunk.latin1Slice();
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
    if (state.open > 0) state.idle.push(await connect({ hostname, port }, state));
  });
  return connection;
}
