// A payment acceptance service that closes idle connections and resets others at random: before it has read anything, after
// it has read the request, or in the middle of its answer. Started by a test, which queries its records at the end.
import net from 'node:net';
import { setImmediate } from 'node:timers';

const { idleMs, seed } = JSON.parse(process.env.SERVICE_OPTIONS ?? '');

/** In percent of the connections, each independently. */
const SHARES = { atOnce: 0.5, unread: 1.5, read: 0.5, midAnswer: 0.5 };

/**
 * How often each order's request was read.
 * @type {Record<string, number>}
 */
const reads = {};
/**
 * Connections that were closed before anything was read: the client's port, and the time by the system clock.
 * @type {{ port: number | undefined; at: number }[]}
 */
const unread = [];

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

const server = net.createServer({ noDelay: true }, (socket) => {
  const fate = draw();
  const port = socket.remotePort;
  let text = '';
  const reset = () => {
    if (text === '') unread.push({ port, at: milliseconds() });
    socket.resetAndDestroy();
  };
  socket.on('error', () => {});
  if (fate === 'atOnce') {
    reset();
    return;
  }
  // Equally likely at any moment, including the first; what has arrived by then is read first.
  const unreadMs = -Math.log(1 - random()) * (idleMs / 2);
  const timer = setTimeout(
    () => {
      if (fate === 'unread') {
        setImmediate(() => text === '' && reset());
      } else {
        unread.push({ port, at: milliseconds() });
        socket.end();
      }
    },
    fate === 'unread' ? unreadMs : idleMs,
  );
  socket.on('close', () => clearTimeout(timer));
  socket.on('data', (chunk) => {
    if (text === '') clearTimeout(timer);
    text += chunk.toString('latin1');
    if (!/--\r\n$|\r\n0\r\n\r\n$/.test(text)) return;
    const orderId = String(/name="order_id"\r\n\r\n([^\r]+)/.exec(text)?.[1]);
    reads[orderId] = (reads[orderId] ?? 0) + 1;
    if (fate === 'read') {
      socket.resetAndDestroy();
      return;
    }
    const link = `https://pay.example/${orderId}`;
    const body = JSON.stringify({ success: 'true', bill_id: `bill-${orderId}`, link_url: link, link_page_url: link });
    const answer = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    if (fate === 'midAnswer') socket.write(answer.slice(0, -10), () => socket.resetAndDestroy());
    else socket.end(answer);
  });
});
process.on('message', () => process.send?.({ reads, unread }));
process.on('disconnect', () => process.exit(0));
server.listen(0, '127.0.0.1', 1024, () => process.send?.(server.address()));
