// npm run test:hosts: packs the libraries, installs them into applications as people have them, and into the examples, and
// lets each take payments. Names may follow: npm run test:hosts -- nest11-cjs bullmq-handover
import './lib/node-version.mjs';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { beforeExit, command, CommandError } from './lib/lifecycle.mjs';
import { startTemporaryPostgres } from './lib/postgres.mjs';
import { prepare } from './lib/prepare.mjs';
import { checkHost } from '../test/hosts/check.mjs';
import { EXAMPLES, tryExamples } from '../test/hosts/examples.mjs';
import { tryInstallation } from '../test/hosts/installation.mjs';
import { makeHost } from '../test/hosts/make.mjs';
import { counts, show } from '../test/hosts/report.mjs';
import { argumentsOf } from './lib/usage.mjs';

/**
 * `oldest`: with the oldest release of everything that the libraries say they work with.
 *
 * @type {Record<string, { template: string, oldest?: boolean }>}
 */
const HOSTS = {
  'nest11-cjs': { template: 'nest11-cjs' },
  'nest11-oldest': { template: 'nest11-cjs', oldest: true },
  'nest12-esm': { template: 'nest12-esm' },
};
/** Installed into as the documentation says. */
const PINNED = 'nest11-pinned';

const names = [...Object.keys(HOSTS), PINNED, ...Object.keys(EXAMPLES)];
const given = argumentsOf(
  `npm run test:hosts [-- NAME …]\n\nInstalls the packed libraries into hosts and examples, and tries each: ${names.join(', ')}.`,
  (/** @type {string} */ name) => names.includes(name),
);
const chosen = given.length > 0 ? given : names;

await command(async () => {
  await prepare();
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'payment-hosts-')));
  beforeExit(() => fs.rmSync(folder, { recursive: true, force: true }));
  const { leavePackages, pack } = await import('./lib/packages.mjs');
  const packages = (await leavePackages(path.join(folder, 'packages'))).map((each) => pack(each, folder));
  const { url } = await startTemporaryPostgres();

  const results = [];
  for (const [name, kind] of Object.entries(HOSTS)) {
    if (!chosen.includes(name)) continue;
    console.log(`\n${name}:`);
    const home = path.join(folder, name);
    const host = await makeHost({ ...kind, folder: home, packages });
    results.push({ name, ...host, checks: host.leftOut ? [] : await checkHost(home, url) });
  }
  if (chosen.includes(PINNED)) {
    console.log(`\n${PINNED}:`);
    const home = path.join(folder, PINNED);
    results.push({ name: PINNED, ...(await tryInstallation({ folder: home, packages, serverUrl: url })) });
  }
  const majors = [11, 12].filter((nest) => chosen.some((name) => EXAMPLES[name]?.nest === nest));
  if (majors.length > 0) console.log('\nexamples:');
  results.push(
    ...(await Promise.all(majors.map((nest) => tryExamples({ nest, chosen, folder, packages, serverUrl: url })))),
  );
  show(results);
  const sum = counts(results);
  if (process.env.TEST_COUNTS) fs.writeFileSync(process.env.TEST_COUNTS, JSON.stringify(sum));
  if (sum.passed + sum.failed === 0) throw new CommandError('No host could be installed, so nothing was tried.');
  return sum.failed > 0 ? 1 : 0;
});
