import net from 'node:net';
import { arrive } from './arrivals.mjs';
import { ready } from './contestant.mjs';
import { lengthOf, messagesFor, statusOf } from './messages.mjs';
import { quantile } from './statistics.mjs';

/**
 * @typedef {object} Fire
 * @property {string} url where to send them
 * @property {import('./messages.mjs').Requests} requests used in turn
 * @property {number} [connections]
 * @property {number} [seconds]
 * @property {number} [count] stop after so many instead of after `seconds`
 */

/** @typedef {{ sent: number; latencies: number[]; status: Record<string, number>; errors: number; count: number; end: number }} State */

ready({}, { fire, arrive });

/**
 * Each request follows the answer to the one before. Gives the rate per second, times in milliseconds, and answers by status.
 * @param {Fire} options
 */
async function fire({ url, requests, connections = 64, seconds, count = Infinity }) {
  const target = new URL(url);
  const messages = await messagesFor(target, requests);
  const began = performance.now();
  const end = seconds === undefined ? Infinity : began + seconds * 1000;
  /** @type {State} */
  const state = { sent: 0, latencies: [], status: {}, errors: 0, count, end };
  await Promise.all(Array.from({ length: connections }, () => connect(target, messages, state)));
  const took = Math.min(performance.now(), state.end) - began;
  const sorted = Float64Array.from(state.latencies).sort();
  const good = Object.entries(state.status).reduce((sum, [code, n]) => sum + (Number(code) < 400 ? n : 0), 0);
  const failed = sorted.length - good + state.errors;
  return {
    rate: (good / took) * 1000,
    p50: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    requests: good,
    failed,
    status: state.status,
  };
}

/**
 * Sends on a connection of its own until it is over.
 * @param {URL} target
 * @param {Buffer[]} messages
 * @param {State} state
 */
function connect({ hostname, port }, messages, state) {
  return new Promise((resolve) => {
    const socket = net.connect({ host: hostname, port: Number(port), noDelay: true });
    let began = 0;
    let rest = '';
    let ended = false;
    const end = () => {
      if (ended) return;
      ended = true;
      socket.destroy();
      resolve(undefined);
    };
    const next = () => {
      if (state.sent >= state.count || performance.now() >= state.end) return end();
      began = performance.now();
      socket.write(messages[state.sent++ % messages.length] ?? '');
    };
    socket.on('connect', next);
    socket.on('data', (chunk) => {
      rest += chunk.toString('latin1');
      const length = lengthOf(rest);
      if (length === undefined || rest.length < length) return;
      const now = performance.now();
      const code = statusOf(rest);
      rest = rest.slice(length);
      if (now <= state.end) {
        state.latencies.push(now - began);
        state.status[code] = (state.status[code] ?? 0) + 1;
      }
      next();
    });
    socket.on('error', () => state.errors++);
    socket.on('close', () => {
      // A server that closes between two requests has failed this connection's share of them.
      if (!ended) state.errors++;
      end();
    });
  });
}
