// Compiles what has changed, in a process of its own: it holds the lock, so that even when whoever started it is
// killed, the next command waits until it has written its last file.
import fs from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { withLock } from './lock.mjs';
import { dataFolder, root } from './project.mjs';

const projects = [
  { folder: 'libs/payment-acceptance', config: 'tsconfig.build.json', output: 'libs/payment-acceptance/dist/esm' },
  { folder: 'libs/payment-console', config: 'tsconfig.build.json', output: 'libs/payment-console/dist/esm' },
  { folder: 'libs/payment-sandbox', config: 'tsconfig.build.json', output: 'libs/payment-sandbox/dist/esm' },
  { folder: 'apps/shop', config: 'tsconfig.app.json', output: 'dist/apps/shop' },
  { folder: 'apps/sandbox', config: 'tsconfig.app.json', output: 'dist/apps/sandbox' },
];

await withLock(path.join(dataFolder, 'build.lock'), () => {
  for (const project of projects) matchOutputToSources(project);
  process.exitCode = build();
});

/** `tsc -b`, without a second process. */
function build() {
  const { sys } = ts;
  const format = sys.writeOutputIsTTY?.() ? ts.formatDiagnosticsWithColorAndContext : ts.formatDiagnostics;
  const names = {
    getCurrentDirectory: () => root,
    getCanonicalFileName: (name) => name,
    getNewLine: () => '\n',
  };
  const host = ts.createSolutionBuilderHost(sys, undefined, (diagnostic) => {
    process.stderr.write(format([diagnostic], names));
  });
  const configs = projects.map(({ folder, config }) => path.join(root, folder, config));
  return ts.createSolutionBuilder(host, configs, {}).build();
}

/**
 * The compiler trusts its notes: it does not see that an output has been deleted, nor does it delete the output of a
 * source that is gone.
 */
function matchOutputToSources({ folder, output }) {
  const target = path.join(root, output);
  const expected = new Set(
    filesIn(path.join(root, folder, 'src'))
      .filter((file) => file.endsWith('.ts') && !/\.(spec|d)\.ts$/.test(file))
      .map((file) => file.slice(0, -'.ts'.length)),
  );
  const found = filesIn(target).filter((file) => /\.(js|d\.ts)(\.map)?$/.test(file));
  for (const file of found) {
    if (!expected.has(file.replace(/\.(js|d\.ts)(\.map)?$/, ''))) fs.rmSync(path.join(target, file));
  }
  const present = new Set(found);
  if ([...expected].some((file) => !present.has(`${file}.js`))) {
    fs.rmSync(path.join(target, '.tsbuildinfo'), { force: true });
  }
}

function filesIn(folder) {
  if (!fs.existsSync(folder)) return [];
  return fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath ?? entry.path, entry.name)));
}
