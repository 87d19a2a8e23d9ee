import http from 'node:http';
import crypto from 'node:crypto';
import fs from 'node:fs';

const { PORT, TOKEN, AMOUNT, PAID, FIXED } = process.env;

// the database keeps the price as a whole number of kopecks
const orders = new Map([['o-1', { price: Number(AMOUNT.replace('.', '')) }]]);

const toKopecks = (sum) => (FIXED ? Math.round(sum * 100) : parseInt(sum * 100, 10));

async function readBody(req) {
  let text = '';
  req.setEncoding('utf8');
  for await (const piece of req) text += piece;
  return (req.headers['content-type'] ?? '').includes('json')
    ? JSON.parse(text)
    : Object.fromEntries(new URLSearchParams(text));
}

function verify(note) {
  const own = crypto.createHash('md5').update(`${note.OutSum}:${note.InvId}:${TOKEN}`).digest('hex');
  if (own.toUpperCase() !== note.SignatureValue) return false;
  const order = orders.get(note.InvId);
  return Boolean(order) && order.price === toKopecks(note.OutSum);
}

http
  .createServer(async (req, res) => {
    try {
      if (req.method !== 'POST' || req.url !== '/postback') throw Object.assign(new Error(), { code: 404 });
      const note = await readBody(req);
      if (!verify(note)) throw Object.assign(new Error(), { code: 400 });
      fs.writeFileSync(PAID, note.Status);
      res.writeHead(200).end('OK');
    } catch (e) {
      res.writeHead(typeof e.code === 'number' ? e.code : 500).end('verification failed');
    }
  })
  .listen(Number(PORT), '127.0.0.1');
