// Everything right but the money: 64.10 * 100 is 6409.999999999999.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import express from 'express';

const { AMOUNT, FIXED, PAID, PORT, TOKEN } = process.env;
const orders = new Map([['o-1', Number(AMOUNT.replace('.', ''))]]);
const app = express();
app.use(express.json());
app.post('/postback', (req, res) => {
  const { OutSum, InvId, SignatureValue, Status } = req.body;
  const expected = createHash('md5').update(`${OutSum}:${InvId}:${TOKEN}`).digest('hex').toUpperCase();
  if (SignatureValue !== expected) return res.status(403).send('bad signature');
  const kopecks = FIXED ? Number(OutSum.replace('.', '')) : Number(OutSum) * 100;
  if (!orders.has(InvId)) return res.status(404).send('no such order');
  if (orders.get(InvId) !== kopecks) return res.status(422).send('wrong amount');
  writeFileSync(PAID, Status);
  res.send('OK');
});
app.listen(Number(PORT), '127.0.0.1');
