import net from 'node:net';
import { ready } from './contestant.mjs';
import { quantile } from './statistics.mjs';

/*
 * Requests are written as they go over the wire, once for all, and of an answer only its status and its length are read:
 * on a machine with two cores, what the generator takes is missing where it is measured.
 */

/** Requests by the module and the options that make them. */
const made = new Map();

ready({}, { fire });

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

async function messagesFor(target, { module, options }) {
  const key = JSON.stringify([target.href, module, options]);
  if (!made.has(key)) {
    made.clear();
    const { bodies } = await import(new URL(`../${module}`, import.meta.url));
    made.set(
      key,
      (await bodies(options)).map((body) =>
        Buffer.from(
          `POST ${target.pathname} HTTP/1.1\r\nHost: ${target.host}\r\nContent-Type: application/json\r\n` +
            `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: keep-alive\r\n\r\n${body}`,
        ),
      ),
    );
  }
  return made.get(key);
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
      const code = rest.slice(9, 12);
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

/** Of the whole answer; `undefined` while its head is not complete. */
function lengthOf(text) {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return undefined;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, head));
  if (!length) throw new Error(`An answer without a length: ${text.slice(0, head)}`);
  return head + 4 + Number(length[1]);
}
