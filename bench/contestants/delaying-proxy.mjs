// A network between a client and a server: bytes are as long on their way as it is told, each way. The machine's own network
// connects at once, so what a client sends first is held for the round trip that TCP's handshake would have taken.
import net from 'node:net';
import { options, portOf, ready } from '../lib/contestant.mjs';

const { targetPort, roundTripMs } = options;

/**
 * Sends on what comes in, later by that much, in order; `from` is the earliest moment at which it can have been sent.
 * @param {net.Socket} source
 * @param {net.Socket} target
 */
function delay(source, target, from = 0) {
  /** @param {() => void} send */
  const later = (send) => setTimeout(send, Math.max(0, from - performance.now()) + roundTripMs / 2);
  source.on('data', (chunk) => later(() => target.writable && target.write(chunk)));
  source.on('end', () => later(() => target.end()));
  source.on('close', () => later(() => target.destroy()));
  source.on('error', () => target.destroy());
}

const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
  const upstream = net.connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
  delay(client, upstream, performance.now() + roundTripMs);
  delay(upstream, client);
});
server.listen(0, '127.0.0.1', () => ready({ port: portOf(server) }));
