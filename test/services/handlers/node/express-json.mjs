// Express with JSON, all right; send('OK') is text/html.
import { createHash, timingSafeEqual } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import express from 'express';

const { PAID, PORT, TOKEN } = process.env;
const app = express();
app.post('/postback', express.json(), (req, res) => {
  const { OutSum, InvId, SignatureValue = '', Status } = req.body;
  const expected = createHash('md5').update(`${OutSum}:${InvId}:${TOKEN}`).digest();
  const given = Buffer.from(SignatureValue, 'hex');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return res.status(403).send('bad sign');
  if (InvId === 'o-1') writeFileSync(PAID, Status);
  res.send('OK');
});
app.listen(Number(PORT), '127.0.0.1');
