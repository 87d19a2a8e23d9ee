// The payment acceptance service, as far as creating a bill asks for it; it takes as long as it is told. With a certificate over TLS.
import http from 'node:http';
import https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { options, portOf, ready } from '../lib/contestant.mjs';

let count = 0;
/** @type {http.RequestListener} */
const answer = (request, response) => {
  request.resume();
  request.on('end', async () => {
    if (options.takesMs > 0) await sleep(options.takesMs);
    const bill = `bill-${++count}`;
    const link = `http://service.example/link/${bill}`;
    const body = JSON.stringify({ success: 'true', bill_id: bill, link_url: link, link_page_url: link });
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
      .end(body);
  });
};
const server = options.tls ? https.createServer(options.tls, answer) : http.createServer(answer);
server.listen(0, '127.0.0.1', () => {
  const port = portOf(server);
  ready({ port, url: `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}` });
});
