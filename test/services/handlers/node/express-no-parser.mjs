// Express without a body parser: no postback can be read, whatever its form.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import express from 'express';

const { FIXED, PAID, PORT, TOKEN } = process.env;
const app = express();
if (FIXED) app.use(express.json());
app.post('/postback', (req, res) => {
  const { OutSum, InvId, SignatureValue, Status } = req.body;
  const expected = createHash('md5').update(`${OutSum}:${InvId}:${TOKEN}`).digest('hex').toUpperCase();
  if (SignatureValue !== expected) return res.status(400).send('bad sign');
  if (InvId === 'o-1') writeFileSync(PAID, Status);
  res.send('OK');
});
app.listen(Number(PORT), '127.0.0.1');
