import net from 'node:net';
import { arrive } from './arrivals.mjs';
import { ready } from './contestant.mjs';
import { lengthOf, messagesFor, statusOf } from './messages.mjs';
import { quantile } from './statistics.mjs';

ready({}, { fire, arrive });

/**
 * @param url where to send them
 * @param requests `{ module, options }`: a module of bench/ whose `bodies(options)` gives the JSON bodies, used in turn
 * @param count stop after so many instead of after `seconds`
 * @returns `{ rate, p50, p95, p99, max, requests, failed, status }`: per second, in milliseconds, answers by status
 */
async function fire({ url, requests, connections = 64, seconds, count = Infinity }) {
  const target = new URL(url);
  const messages = await messagesFor(target, requests);
  const state = { sent: 0, latencies: [], status: {}, errors: 0, count, messages };
  const began = performance.now();
  state.end = seconds === undefined ? Infinity : began + seconds * 1000;
  await Promise.all(Array.from({ length: connections }, () => connect(target, state)));
  const took = Math.min(performance.now(), state.end) - began;
  const sorted = Float64Array.from(state.latencies).sort();
  const good = Object.entries(state.status).reduce((sum, [code, n]) => sum + (code < 400 ? n : 0), 0);
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => quantile(sorted, share));
  const failed = sorted.length - good + state.errors;
  return {
    rate: (good / took) * 1000,
    p50,
    p95,
    p99,
    max: sorted.at(-1),
    requests: good,
    failed,
    status: state.status,
  };
}

function connect({ hostname, port }, state) {
  return new Promise((resolve) => {
    const socket = net.connect({ host: hostname, port, noDelay: true });
    let began = 0;
    let rest = '';
    let ended = false;
    const end = () => {
      if (ended) return;
      ended = true;
      socket.destroy();
      resolve();
    };
    const next = () => {
      if (state.sent >= state.count || performance.now() >= state.end) return end();
      began = performance.now();
      socket.write(state.messages[state.sent++ % state.messages.length]);
    };
    socket.on('connect', next);
    socket.on('data', (chunk) => {
      rest += chunk.latin1Slice();
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
