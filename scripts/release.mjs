// npm run release: publishes the packages, from CI alone. With --dry-run it checks, builds and packs, and says what it
// would publish. CONTRIBUTING.md says how a release is made.
import './lib/node-version.mjs';
import fs from 'node:fs';
import path from 'node:path';
import { run } from './lib/children.mjs';
import { command, CommandError } from './lib/lifecycle.mjs';
import { manifestIn } from './lib/manifest.mjs';
import { prepare } from './lib/prepare.mjs';
import { root } from './lib/project.mjs';
import { problemsOf } from './lib/release/checks.mjs';
import { assertMayPublish, inOrder, publish } from './lib/release/publish.mjs';
import { writeSbom } from './lib/release/sbom.mjs';
import { argumentsOf } from './lib/usage.mjs';

const [dryRun] = argumentsOf(
  'npm run release [-- --dry-run]\n\nPublishes the packages, in CI. --dry-run checks everything and says what would be published.',
  (/** @type {string} */ argument) => argument === '--dry-run',
);

await command(async () => {
  if (!dryRun) assertMayPublish(process.env);
  const problems = problemsOf(root);
  await prepare();
  const api = await run(process.execPath, ['scripts/api.mjs', '--check']);
  if (api !== 0) problems.push('The reports in etc/ are not of these sources: see above.');
  if (problems.length > 0 && !dryRun) throw new CommandError(listOf(problems));

  const releases = await packAll(path.join(root, 'dist/release'));
  for (const { manifest, file, files, size, unpackedSize } of releases) {
    const place = path.relative(process.cwd(), file);
    console.log(
      `${dryRun ? 'Would publish' : 'Publishes'} ${manifest.name} ${manifest.version}: ${place}, ${files.length} files, ` +
        `${size} bytes packed, ${unpackedSize} unpacked; what it brings along is in ${path.basename(sbomOf(file))}`,
    );
    if (!dryRun) publish(manifest, file);
  }
  if (problems.length > 0) throw new CommandError(listOf(problems));
  return 0;
});

/** Builds and packs the libraries into an empty folder, each with its SBOM, in the order in which they are published. */
async function packAll(/** @type {string} */ folder) {
  const { leavePackages, pack } = await import('./lib/packages.mjs');
  fs.rmSync(folder, { recursive: true, force: true });
  const built = await leavePackages(path.join(folder, 'packages'));
  const releases = built.map((each) => ({ ...pack(each, folder), manifest: manifestIn(each) }));
  for (const { manifest, file } of releases) {
    writeSbom(manifest, path.join(root, 'libs', manifest.name.replace('nestjs-', '')), sbomOf(file));
  }
  return inOrder(releases);
}

function sbomOf(/** @type {string} */ tarball) {
  return tarball.replace(/\.tgz$/, '.cdx.json');
}

function listOf(/** @type {string[]} */ problems) {
  return `This cannot be released yet:\n${problems.map((problem) => `- ${problem.replaceAll('\n', '\n  ')}`).join('\n')}`;
}
