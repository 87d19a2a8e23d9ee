// The payment acceptance service, as far as a whole payment asks for it: it creates bills, and every bill has one payment that
// succeeded.
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { options, portOf, ready } from '../lib/contestant.mjs';
import { AMOUNT, billId } from '../lib/postback-bodies.mjs';
import { strain } from '../lib/strain.mjs';

const createdAt = new Date().toISOString().slice(0, 19).replace('T', ' ');
/** How it behaves where it is told to: see strain.mjs. */
const strained = options.strain && strain(options.strain);

const server = http.createServer(async (request, response) => {
  const status = strained ? await strained.admit() : 200;
  // As whoever stands before a service that is dead.
  if (status === 0) return request.socket.destroy();
  if (status !== 200) return answer(response, status, { success: false, message: 'Too many requests.' });
  if (request.method === 'POST') return answer(response, 200, await created(request));
  const id = new URL(request.url ?? '', 'http://service').searchParams.get('id');
  const payment = {
    id: `payment-of-${id}`,
    bill_id: id,
    status: 'SUCCESS',
    amount: AMOUNT,
    amount_received: AMOUNT,
    commission: '2.10',
    currency_in: 'RUB',
    from_card: '411111******1111',
    created_at: createdAt,
  };
  const paid = () => answer(response, 200, { data: [payment], success: true });
  if (options.delayMs) setTimeout(paid, options.delayMs);
  else paid();
});

/**
 * The bill of `order-17` is `bill-17`, as in the postbacks of postback-bodies.mjs.
 * @param {http.IncomingMessage} request
 */
async function created(request) {
  const [, number] = /name="order_id"\s+order-(\d+)/.exec(await text(request)) ?? [];
  const link = `http://service.example/link/${number}`;
  return { success: 'true', bill_id: billId(Number(number)), link_url: link, link_page_url: link };
}

/**
 * @param {http.ServerResponse} response
 * @param {number} status
 * @param {object} content
 */
function answer(response, status, content) {
  const body = JSON.stringify(content);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  response.writeHead(status, headers).end(body);
}

// Rounds are seconds apart: a connection that is closed between two of them would fail the first request of the next.
server.keepAliveTimeout = 600_000;
server.listen(0, '127.0.0.1', () => {
  const { die, revive, log } = strained ?? {};
  ready({ url: `http://127.0.0.1:${portOf(server)}` }, { die, revive, log });
});
