// Between a client and its server: counts round trips, that is how often a client has sent something after an answer.
import net from 'node:net';
import { options, portOf, ready } from '../lib/contestant.mjs';

let trips = 0;

const server = net.createServer({ noDelay: true }, (client) => {
  const upstream = net.connect({ port: options.targetPort, host: '127.0.0.1', noDelay: true });
  let isAsking = false;
  client.on('data', () => {
    if (!isAsking) trips++;
    isAsking = true;
  });
  upstream.on('data', () => (isAsking = false));
  client.pipe(upstream).pipe(client);
  client.on('error', () => upstream.destroy());
  upstream.on('error', () => client.destroy());
});
server.listen(0, '127.0.0.1', () => {
  const taken = () => {
    const count = trips;
    trips = 0;
    return count;
  };
  ready({ port: portOf(server) }, { taken });
});
