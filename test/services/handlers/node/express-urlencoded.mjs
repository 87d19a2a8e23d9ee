// Express with urlencoded only: JSON leaves no body, and reading it fails.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import express from 'express';

const { AMOUNT, PAID, PORT, TOKEN } = process.env;
const app = express();
app.use(express.urlencoded({ extended: true }));
app.post('/postback', (req, res) => {
  const { OutSum, InvId, SignatureValue, Status } = req.body;
  const expected = createHash('md5').update(`${OutSum}:${InvId}:${TOKEN}`).digest('hex').toUpperCase();
  if (SignatureValue !== expected) return res.status(400).send('bad sign');
  if (InvId !== 'o-1' || OutSum !== AMOUNT) return res.sendStatus(404);
  writeFileSync(PAID, Status);
  res.send('OK');
});
app.listen(Number(PORT), '127.0.0.1');
