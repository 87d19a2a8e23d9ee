import express from 'express';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';

const { PORT, TOKEN, AMOUNT, PAID } = process.env;
const app = express();
app.use(express.json(), express.urlencoded({ extended: false }));

const sign = (...parts) => createHash('md5').update(parts.join(':')).digest('hex').toUpperCase();

app.post('/postback', async (req, res) => {
  const { Status, InvId, OutSum, SignatureValue } = req.body ?? {};
  if (sign(OutSum, InvId, TOKEN) !== SignatureValue) return res.status(403).json({ error: 'signature' });
  if (InvId !== 'o-1') return res.status(404).json({ error: 'order' });
  if (OutSum !== AMOUNT) return res.status(409).json({ error: 'amount' });
  await writeFile(PAID, Status);
  res.json({ ok: true });
});

// the shop front is a single-page application: every other address gets its page
app.use((req, res) => {
  res.type('html').send('<!doctype html><title>Shop</title><div id="app"></div><script src="/app.js"></script>');
});

app.listen(Number(PORT), '127.0.0.1');
