// npm run bench: measures what the project claims, each figure beside its baseline; see bench/README.md.
import './lib/node-version.mjs';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { command } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';
import { root } from './lib/project.mjs';
import { argumentsOf } from './lib/usage.mjs';

const folder = path.join(root, 'bench');
const all = fs.readdirSync(folder).flatMap((file) => (file.endsWith('.mjs') ? file.slice(0, -4) : []));
argumentsOf(
  `npm run bench [-- BENCH … --quick --long --history]\n\nMeasures what the project claims: ${all.join(', ')}; --history only ` +
    'tells what was measured before. See bench/README.md.',
  (each) => ['--quick', '--long', '--history', ...all].includes(each),
);

await command(async () => {
  const { values, positionals } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      long: { type: 'boolean', default: false },
      history: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  const wanted = positionals.length > 0 ? positionals : all;
  if (values.history) {
    const { readHistory, shownHistory } = await import('../bench/lib/history.mjs');
    console.log(shownHistory(readHistory(path.join(folder, 'results')), wanted));
    return 0;
  }
  await prepare();
  // Only now is everything there that they import.
  const [{ startDatabase }, { startLoad }, { keep }] = await Promise.all([
    import('../bench/lib/database.mjs'),
    import('../bench/lib/load.mjs'),
    import('../bench/lib/report.mjs'),
  ]);
  /** @type {({ name: string } & import('../bench/lib/report.mjs').Bench)[]} */
  const benches = [];
  for (const name of wanted) {
    benches.push({ name, ...(await import(pathToFileURL(path.join(folder, `${name}.mjs`)).href)) });
  }
  benches.sort((a, b) => a.order - b.order);
  const database = await startDatabase();
  const load = await startLoad();
  let report = '';
  for (const { name, title, order, run } of benches) {
    const began = performance.now();
    console.log(`\n${title}`);
    /** @param {string} line */
    const log = (line) => console.log(`  ${line}`);
    const result = await run({ ...values, database, load, log });
    report = keep(name, { title, order, ...result }, { ...values, database });
    for (const { what, wanted, measured, met } of result.targets ?? []) {
      log(`${met ? 'met' : 'NOT MET'}: ${what}: ${measured}, wanted ${wanted}`);
    }
    log(`${((performance.now() - began) / 1000).toFixed(0)} s`);
  }
  console.log(`\n${path.relative(root, report)}`);
  return 0;
});
