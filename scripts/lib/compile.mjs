import fs from 'node:fs';
import path from 'node:path';
import { run } from './children.mjs';
import { CommandError } from './lifecycle.mjs';
import { withLock } from './lock.mjs';
import { dataFolder, root } from './project.mjs';

const projects = [
  {
    config: 'libs/payment-acceptance/tsconfig.build.json',
    from: 'libs/payment-acceptance/src',
    to: 'libs/payment-acceptance/dist',
  },
  {
    config: 'libs/payment-sandbox/tsconfig.build.json',
    from: 'libs/payment-sandbox/src',
    to: 'libs/payment-sandbox/dist',
  },
  { config: 'apps/shop/tsconfig.app.json', from: 'apps/shop/src', to: 'dist/apps/shop' },
  { config: 'apps/sandbox/tsconfig.app.json', from: 'apps/sandbox/src', to: 'dist/apps/sandbox' },
];

/** Compiles what has changed since the last time. */
export async function compile() {
  await withLock(path.join(dataFolder, 'build.lock'), async () => {
    for (const project of projects) matchOutputToSources(project);
    const code = await run(process.execPath, [
      'node_modules/typescript/lib/tsc.js',
      '-b',
      ...projects.map((p) => p.config),
    ]);
    if (code !== 0) throw new CommandError('The build failed.', code);
  });
}

/**
 * The compiler trusts its notes: it does not see that an output has been deleted, nor does it delete the output of a
 * source that is gone.
 */
function matchOutputToSources({ from, to }) {
  const output = path.join(root, to);
  const expected = new Set(
    filesIn(path.join(root, from))
      .filter((file) => file.endsWith('.ts') && !/\.(spec|d)\.ts$/.test(file))
      .map((file) => file.slice(0, -'.ts'.length)),
  );
  const found = filesIn(output).filter((file) => /\.(js|d\.ts)(\.map)?$/.test(file));
  const withCode = new Set(found.filter((file) => file.endsWith('.js')).map((file) => file.slice(0, -'.js'.length)));
  for (const file of found) {
    if (!expected.has(file.replace(/\.(js|d\.ts)(\.map)?$/, ''))) fs.rmSync(path.join(output, file));
  }
  if ([...expected].some((file) => !withCode.has(file))) fs.rmSync(path.join(output, '.tsbuildinfo'), { force: true });
}

function filesIn(folder) {
  if (!fs.existsSync(folder)) return [];
  return fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath ?? entry.path, entry.name)));
}
