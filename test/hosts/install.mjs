import path from 'node:path';
import { CommandError } from '../../scripts/lib/lifecycle.mjs';
import { manifestIn } from '../../scripts/lib/manifest.mjs';
import { root } from '../../scripts/lib/project.mjs';
import { run, RunError } from './run.mjs';

/**
 * Installs what the package.json of a folder names. `{ versions }`, or `{ leftOut }` with the reason where the network is
 * missing.
 */
export async function installed(/** @type {string} */ folder) {
  const started = performance.now();
  const failure = await install(folder);
  if (failure && !(await reachesRegistry()))
    return { leftOut: 'npm cannot reach its registry, nor has it all in its cache' };
  if (failure) throw new CommandError(`npm install failed in ${path.basename(folder)}:\n${failure}`);
  console.log(`  ${path.basename(folder)}: installed in ${((performance.now() - started) / 1000).toFixed(0)} s`);
  return { versions: versionsIn(folder, ['@nestjs/core', 'typeorm', 'typescript']) };
}

async function install(/** @type {string} */ folder) {
  const args = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
  try {
    await run('npm', args, { cwd: folder, env: { ...process.env, npm_config_include: 'dev' } });
    return undefined;
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    return error.output || error.message;
  }
}

/** Asked after a failure: without a network npm's own messages blame the packages. */
async function reachesRegistry() {
  const args = ['view', '@nestjs/core', 'version', '--prefer-online', '--fetch-retries=0'];
  return run('npm', args, { cwd: root, env: process.env }).then(
    () => true,
    () => false,
  );
}

function versionsIn(/** @type {string} */ folder, /** @type {string[]} */ names) {
  return names.map((name) => `${name} ${manifestIn(path.join(folder, 'node_modules', name)).version}`).join(', ');
}
