import fs from 'node:fs';
import path from 'node:path';
import { root } from '../../scripts/lib/project.mjs';
import { attempt, printed } from './attempt.mjs';
import { payIn } from './example-payment.mjs';
import { installed } from './install.mjs';
import { countJobs, failFirstCommit, whyNoRedis } from './shipping.mjs';

/** @import { Packed } from '../../scripts/lib/packages.mjs' */
/** @import { Check } from './attempt.mjs' */
/** @import { Example } from './example-payment.mjs' */

/**
 * `nest`: the major, since those of one are installed together. `unless` gives a reason to leave the example out.
 *
 * @type {Record<string, Example & { nest: number, unless?: () => Promise<string | undefined> }>}
 */
export const EXAMPLES = {
  'nest11-cjs-migrations': {
    nest: 11,
    prefix: '/api',
    orders: '/api/v1/orders',
    says: 'createBill was called inside one of your transactions',
  },
  'nest12-esm-fastify': { nest: 12 },
  'bullmq-handover': {
    nest: 12,
    unless: whyNoRedis,
    before: failFirstCommit,
    ends: { status: 'paid', shipped: true },
    after: countJobs,
  },
  'callbacks-and-workers': { nest: 12, programs: ['start', 'workers'] },
  // `prisma generate` fetches an engine that it does not need, unless one is named.
  prisma: { nest: 12, env: { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath } },
  drizzle: { nest: 12 },
  kysely: { nest: 12 },
};

/** Installs the chosen examples of one major of Nest together, as workspaces of one package, and pays them side by side. */
export async function tryExamples(
  /** @type {{ nest: number, chosen: string[], folder: string, packages: Packed[], serverUrl: string }} */
  { nest, chosen, folder, packages, serverUrl },
) {
  const name = `examples-nest${nest}`;
  const home = path.join(folder, name);
  const workspaces = chosen.filter((each) => EXAMPLES[each]?.nest === nest);
  for (const each of workspaces) copy(each, path.join(home, each), packages);
  fs.writeFileSync(path.join(home, 'package.json'), JSON.stringify({ private: true, workspaces }));
  const installation = await installed(home);
  if ('leftOut' in installation) return { name, ...installation, checks: [] };
  const checks = workspaces.map((each) => tryExample(each, path.join(home, each), serverUrl));
  return { name, ...installation, checks: printed(await Promise.all(checks)) };
}

/** @returns {Promise<Check>} */
async function tryExample(/** @type {string} */ name, /** @type {string} */ folder, /** @type {string} */ serverUrl) {
  const { unless, ...example } = EXAMPLES[name] ?? { nest: 0 };
  const skipped = await unless?.();
  const title = `examples/${name}`;
  if (skipped) return { name: title, ok: true, detail: '', skipped };
  return attempt(title, () => payIn(folder, example, serverUrl));
}

function copy(/** @type {string} */ name, /** @type {string} */ folder, /** @type {Packed[]} */ packages) {
  const source = path.join(root, 'examples', name);
  const made = ['node_modules', 'dist'].map((each) => path.join(source, each));
  fs.cpSync(source, folder, { recursive: true, filter: (file) => !made.includes(file) });
  const file = path.join(folder, 'package.json');
  const manifest = JSON.parse(fs.readFileSync(file, 'utf8'));
  for (const group of [manifest.dependencies, manifest.devDependencies]) {
    for (const { name: own, file: tarball } of packages) if (own in group) group[own] = `file:${tarball}`;
  }
  fs.writeFileSync(file, JSON.stringify(manifest, null, 2));
}
