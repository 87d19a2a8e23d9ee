// Express with JSON; the digest as Node writes it, in lower case.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import express from 'express';

const { FIXED, PAID, PORT, TOKEN } = process.env;
const app = express();
app.use(express.json());
app.post('/postback', (req, res) => {
  const { OutSum, InvId, SignatureValue = '', Status } = req.body ?? {};
  const expected = createHash('md5').update([OutSum, InvId, TOKEN].join(':')).digest('hex');
  const given = FIXED ? SignatureValue.toLowerCase() : SignatureValue;
  if (given !== expected) return res.status(400).json({ error: 'Invalid signature' });
  if (InvId === 'o-1') writeFileSync(PAID, Status);
  res.json({ received: true });
});
app.listen(Number(PORT), '127.0.0.1');
