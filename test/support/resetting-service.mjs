// Payment acceptance services that close connections in all the ways that were seen: idle ones after a while, silently after an
// answer, at a restart, and at random: before anything is read, after the request is read, or in the middle of an answer. Started
// by a test, which queries their records at the end.
import { once } from 'node:events';
import net from 'node:net';
import { setImmediate } from 'node:timers';

const { services, seed } = JSON.parse(process.env.SERVICE_OPTIONS ?? '');

/** In percent of the requests, each independently. */
const SHARES = { atOnce: 0.5, unread: 1.5, read: 0.5, midAnswer: 0.5 };

let state = seed;
/** Mulberry32. */
function random() {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}

function draw() {
  let at = random() * 100;
  for (const [fate, share] of Object.entries(SHARES)) if ((at -= share) < 0) return fate;
  return 'answer';
}

const milliseconds = () => Number(process.hrtime.bigint()) / 1e6;

/** @param {{ idleMs?: number; silent?: boolean; restartMs?: number; resets?: boolean; fresh?: boolean }} how */
async function start({ idleMs = 60_000, silent = false, restartMs, resets = false, fresh = false }) {
  /**
   * How often each order's request was read.
   * @type {Record<string, number>}
   */
  const reads = {};
  /**
   * Connections that were closed while no request was being answered: the client's port, and the time by the system clock.
   * @type {{ port: number | undefined; at: number }[]}
   */
  const unread = [];
  /** @type {Set<net.Socket>} */
  const sockets = new Set();
  const server = net.createServer({ noDelay: true }, (socket) => {
    const port = socket.remotePort;
    let text = '';
    let fate = 'answer';
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    const end = (/** @type {() => void} */ how) => {
      if (text === '') unread.push({ port, at: milliseconds() });
      how();
    };
    const reset = () => end(() => socket.resetAndDestroy());
    const wait = () => {
      text = '';
      fate = resets ? draw() : 'answer';
      if (fate === 'atOnce') return reset();
      // Equally likely at any moment, including the first; what has arrived by then is read first.
      const unreadMs = -Math.log(1 - random()) * 200;
      timer = setTimeout(
        () => setImmediate(() => text === '' && (fate === 'unread' ? reset() : end(() => socket.destroy()))),
        fate === 'unread' ? unreadMs : idleMs,
      );
    };
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => (clearTimeout(timer), sockets.delete(socket)));
    socket.on('data', (chunk) => {
      if (text === '') clearTimeout(timer);
      text += chunk.toString('latin1');
      if (!/--\r\n$/.test(text)) return;
      const orderId = String(/name="order_id"\r\n\r\n([^\r]+)/.exec(text)?.[1]);
      reads[orderId] = (reads[orderId] ?? 0) + 1;
      if (fate === 'read') return void socket.resetAndDestroy();
      const link = `https://pay.example/${orderId}`;
      const body = JSON.stringify({ success: 'true', bill_id: `bill-${orderId}`, link_url: link, link_page_url: link });
      const head = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n${fresh ? 'Connection: close\r\n' : ''}`;
      const answer = `HTTP/1.1 200 OK\r\n${head}\r\n${body}`;
      if (fate === 'midAnswer') return void socket.write(answer.slice(0, -10), () => socket.resetAndDestroy());
      if (fresh || silent) return void socket.write(answer, () => socket.destroy());
      socket.write(answer);
      wait();
    });
    wait();
  });
  const listen = async (/** @type {number} */ port) => {
    server.listen(port, '127.0.0.1', 1024);
    await once(server, 'listening');
    return /** @type {net.AddressInfo} */ (server.address()).port;
  };
  const port = await listen(0);
  if (restartMs !== undefined) {
    setInterval(() => {
      server.close(() => void listen(port));
      for (const socket of sockets) {
        unread.push({ port: socket.remotePort, at: milliseconds() });
        socket.destroy();
      }
    }, restartMs);
  }
  return { port, truth: { reads, unread } };
}

const started = await Promise.all(services.map(start));
process.on('message', () => process.send?.(started.map(({ truth }) => truth)));
process.on('disconnect', () => process.exit(0));
process.send?.(started.map(({ port }) => port));
