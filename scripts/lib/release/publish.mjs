import { spawnSync } from 'node:child_process';
import { CommandError } from '../lifecycle.mjs';

/** @import { Manifest } from '../manifest.mjs' */

/** Throws unless the job that runs this can prove to npm where it runs. */
export function assertMayPublish(/** @type {NodeJS.ProcessEnv} */ env) {
  if (env.CI && (env.ACTIONS_ID_TOKEN_REQUEST_URL || env.SIGSTORE_ID_TOKEN)) return;
  throw new CommandError(
    'Only CI publishes, so that every package proves which commit it was built from: a job of GitHub Actions with ' +
      '"id-token: write", or of GitLab CI with SIGSTORE_ID_TOKEN. "npm run release -- --dry-run" shows what it would publish.',
  );
}

/**
 * A package after those of ours that its users must have, too: nobody can install one whose peer is not there yet.
 *
 * @template {{ manifest: Manifest }} T
 */
export function inOrder(/** @type {T[]} */ packages) {
  const left = [...packages];
  /** @type {T[]} */
  const ordered = [];
  const waits = (/** @type {T} */ { manifest }) =>
    left.some(
      ({ manifest: { name } }) =>
        name in (manifest.peerDependencies ?? {}) && !manifest.peerDependenciesMeta?.[name]?.optional,
    );
  while (left.length > 0) {
    const next = left.findIndex((each) => !waits(each));
    if (next < 0) throw new Error(`${left.map(({ manifest }) => manifest.name).join(' and ')} need each other.`);
    ordered.push(...left.splice(next, 1));
  }
  return ordered;
}

/** Publishes a packed package. One that is there already, of a release that broke off, stays as it is. */
export function publish(/** @type {Manifest} */ { name, version }, /** @type {string} */ file) {
  const known = spawnSync('npm', ['view', `${name}@${version}`, 'version'], { encoding: 'utf8' });
  if (known.status === 0 && known.stdout.trim() === version) {
    console.log(`${name} ${version} is published already.`);
    return;
  }
  const { status } = spawnSync('npm', ['publish', file, '--provenance', '--access=public'], { stdio: 'inherit' });
  if (status !== 0) throw new CommandError(`npm did not publish ${name} ${version}. Run the job again to go on there.`);
}
