// The payment acceptance service, as far as a whole payment asks for it: every bill has one payment that succeeded.
import http from 'node:http';
import { options, ready } from '../lib/contestant.mjs';
import { AMOUNT } from '../lib/postback-bodies.mjs';

const created = new Date().toISOString().slice(0, 19).replace('T', ' ');
const server = http.createServer((request, response) => {
  const id = new URL(request.url, 'http://service').searchParams.get('id');
  const payment = {
    id: `payment-of-${id}`,
    bill_id: id,
    status: 'SUCCESS',
    amount: AMOUNT,
    amount_received: AMOUNT,
    commission: '2.10',
    currency_in: 'RUB',
    from_card: '411111******1111',
    created_at: created,
  };
  const body = JSON.stringify({ data: [payment], success: true });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const answer = () => response.writeHead(200, headers).end(body);
  if (options.delayMs) setTimeout(answer, options.delayMs);
  else answer();
});
// Rounds are seconds apart: a connection that is closed between two of them would fail the first request of the next.
server.keepAliveTimeout = 600_000;
server.listen(0, '127.0.0.1', () => ready({ url: `http://127.0.0.1:${server.address().port}` }));
