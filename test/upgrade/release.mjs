import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { run } from '../../scripts/lib/children.mjs';
import { codeOf } from '../../scripts/lib/errors.mjs';
import { CommandError } from '../../scripts/lib/lifecycle.mjs';
import { withLock } from '../../scripts/lib/lock.mjs';
import { dataFolder, root } from '../../scripts/lib/project.mjs';

/** @typedef {{ commit: string; version: string; folder: string }} Release */
/** @typedef {{ packages: Record<string, { link?: boolean; resolved?: string }> }} Lockfile */

const NAMED_BY = 'etc/previous-release.json';
const LOCKFILE = 'package-lock.json';

/**
 * Makes a release beside the present code, built as it was, and keeps it.
 * @param {string} [asked]
 * @returns {Promise<Release>}
 */
export async function makePreviousRelease(asked) {
  const named = asked === undefined ? readJson(path.join(root, NAMED_BY)) : { commit: asked };
  const commit = commitOf(named.commit);
  const folder = path.join(dataFolder, 'releases', commit);
  const sayWhy = { onWait: () => console.log('Waiting for another command that is making this release …') };
  await withLock(
    `${folder}.lock`,
    async () => {
      takeOut(commit, folder);
      await build(commit, folder);
    },
    sayWhy,
  );
  const { version } = readJson(path.join(folder, 'package.json'));
  if (named.version !== undefined && named.version !== version) {
    throw new CommandError(`${NAMED_BY} calls ${commit} version ${named.version}, and it is ${version}.`);
  }
  return { commit, version, folder };
}

/** @param {string} name */
function commitOf(name) {
  const { status, stdout } = git(['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]);
  if (status === 0) return stdout.trim();
  throw new CommandError(
    `The previous release, commit ${name}, is not in this folder's history. ` +
      'A shallow clone gets the rest with "git fetch --unshallow", another one with "git fetch"; ' +
      'an archive has no history: clone the repository. Another release can be named with --previous COMMIT.',
  );
}

/**
 * The files of the commit. An index of its own leaves that of the project alone.
 * @param {string} commit
 * @param {string} folder
 */
function takeOut(commit, folder) {
  if (fs.existsSync(folder)) return;
  const making = `${folder}.partial`;
  const index = { GIT_INDEX_FILE: `${folder}.index` };
  fs.rmSync(making, { recursive: true, force: true });
  insist(['read-tree', commit], index);
  insist(['checkout-index', '--all', `--prefix=${making}/`], index);
  fs.rmSync(index.GIT_INDEX_FILE);
  fs.renameSync(making, folder);
}

/**
 * By its own `npm run build`, which installs what it finds missing.
 * @param {string} commit
 * @param {string} folder
 */
async function build(commit, folder) {
  const shared = hasPresentDependencies(folder);
  const stamp = `${folder}.built`;
  const wanted = shared ? 'with the present dependencies' : 'with dependencies of its own';
  if (fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === wanted) return;
  console.log(`Building ${commit.slice(0, 12)} in ${path.relative(root, folder)}, ${wanted} …`);
  fs.rmSync(stamp, { force: true });
  fs.rmSync(path.join(folder, 'node_modules'), { recursive: true, force: true });
  if (shared) shareDependencies(folder);
  const args = ['run', 'build', '--loglevel=error'];
  const code = await run('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  if (code !== 0) throw new CommandError(`The release ${commit} cannot be built: npm run build in ${folder}.`);
  fs.writeFileSync(stamp, wanted);
}

/** @param {string} folder */
function hasPresentDependencies(folder) {
  const lockfile = fs.readFileSync(path.join(folder, LOCKFILE), 'utf8');
  if (lockfile !== fs.readFileSync(path.join(root, LOCKFILE), 'utf8')) return false;
  // The links are not made for what lies below one workspace, nor for a workspace with a scope.
  /** @type {Lockfile} */
  const { packages } = JSON.parse(lockfile);
  return Object.entries(packages).every(
    ([place, { link }]) => !/^(libs|apps)\/.*node_modules\//.test(place) && !(link && place.includes('@')),
  );
}

/**
 * Links the workspaces, which must be the release's own, and all packages to those of the project. The note of what is
 * installed goes with them: the release's build then installs nothing.
 * @param {string} folder
 */
function shareDependencies(folder) {
  const [own, present] = [path.join(folder, 'node_modules'), path.join(root, 'node_modules')];
  /** @type {Lockfile} */
  const { packages } = readJson(path.join(folder, LOCKFILE));
  fs.mkdirSync(own);
  for (const name of fs.readdirSync(present)) {
    const { link, resolved } = packages[`node_modules/${name}`] ?? {};
    fs.symlinkSync(link && resolved ? path.join(folder, resolved) : path.join(present, name), path.join(own, name));
  }
}

/**
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 */
function git(args, env) {
  const done = spawnSync('git', args, { cwd: root, encoding: 'utf8', env: { ...process.env, ...env } });
  if (done.error)
    throw new CommandError(`The previous release is taken from git, which cannot be run: ${codeOf(done.error)}.`);
  return done;
}

/**
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 */
function insist(args, env) {
  const { status, stderr } = git(args, env);
  if (status !== 0) throw new CommandError(`git ${args[0]} failed: ${stderr.trim()}`);
}

/** @param {string} file */
function readJson(file) {
  return JSON.parse(fs.readFileSync(file, 'utf8'));
}
