// Compiles what has changed, in a process of its own: it holds the lock, so that even when whoever started it is
// killed, the next command waits until it has written its last file.
import fs from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { withLock } from './lock.mjs';
import { libraries } from './manifest.mjs';
import { dataFolder, root } from './project.mjs';

/** @typedef {{ folder: string, config: string, output: string }} Project */

/** @type {Project[]} */
const projects = [
  ...libraries().map((folder) => ({ folder, config: 'tsconfig.build.json', output: path.join(folder, 'dist/esm') })),
  ...['shop', 'sandbox'].map((name) => ({
    folder: path.join(root, 'apps', name),
    config: 'tsconfig.app.json',
    output: path.join(root, 'dist/apps', name),
  })),
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
    getCanonicalFileName: (/** @type {string} */ name) => name,
    getNewLine: () => '\n',
  };
  const host = ts.createSolutionBuilderHost(sys, undefined, (diagnostic) => {
    process.stderr.write(format([diagnostic], names));
  });
  const configs = projects.map(({ folder, config }) => path.join(folder, config));
  return ts.createSolutionBuilder(host, configs, {}).build();
}

/**
 * The compiler trusts its notes: it does not see that an output has been deleted, nor does it delete the output of a
 * source that is gone.
 */
function matchOutputToSources(/** @type {Project} */ { folder, output }) {
  const expected = new Set(
    filesIn(path.join(folder, 'src'))
      .filter((file) => file.endsWith('.ts') && !/\.(spec|d)\.ts$/.test(file))
      .map((file) => file.slice(0, -'.ts'.length)),
  );
  const found = filesIn(output).filter((file) => /\.(js|d\.ts)(\.map)?$/.test(file));
  for (const file of found) {
    if (!expected.has(file.replace(/\.(js|d\.ts)(\.map)?$/, ''))) fs.rmSync(path.join(output, file));
  }
  const present = new Set(found);
  if ([...expected].some((file) => !present.has(`${file}.js`))) {
    fs.rmSync(path.join(output, '.tsbuildinfo'), { force: true });
  }
}

function filesIn(/** @type {string} */ folder) {
  if (!fs.existsSync(folder)) return [];
  return fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));
}
