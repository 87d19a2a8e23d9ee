// npm run with-node -- VERSION COMMAND …: runs a command on another version of Node, which npm's package `node` brings, as
// in npm run with-node -- 22 npm test
import './lib/node-version.mjs';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { run } from './lib/children.mjs';
import { command, CommandError } from './lib/lifecycle.mjs';
import { withLock } from './lib/lock.mjs';
import { dataFolder } from './lib/project.mjs';

const usage = `Usage: npm run with-node -- VERSION COMMAND …

Runs a command on another version of Node, as in "npm run with-node -- 22 npm test". npm fetches that version once.`;

const [version, program, ...args] = process.argv.slice(2);
if (version === '--help' || version === '-h') {
  console.log(usage);
  process.exit(0);
}
if (version === undefined || !/^\d+(\.\d+){0,2}$/.test(version) || program === undefined) {
  console.error(usage);
  process.exit(1);
}

await command(async () => {
  const folder = await fetchNode(version);
  const env = { PATH: `${folder}${path.delimiter}${process.env.PATH}` };
  const found = spawnSync('node', ['--version'], { env: { ...process.env, ...env }, encoding: 'utf8' }).stdout?.trim();
  if (!found?.startsWith(`v${version}`))
    throw new CommandError(`Node ${version} does not run here: ${found ?? 'nothing'}.`);
  console.log(`Node ${found.slice(1)}:`);
  return run(program, args, { env, cwd: process.cwd() });
});

/** @param {string} wanted */
async function fetchNode(wanted) {
  const folder = path.join(dataFolder, 'node', wanted);
  const bin = path.join(folder, 'node_modules/node/bin');
  await withLock(path.join(dataFolder, 'node.lock'), () => {
    if (fs.existsSync(path.join(bin, 'node'))) return;
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, 'package.json'), '{ "private": true }');
    const install = ['install', `node@${wanted}`, '--no-save', '--no-audit', '--no-fund', '--loglevel=error'];
    // Its install script puts the program where it is expected.
    const { status, stderr } = spawnSync('npm', [...install, '--ignore-scripts=false'], {
      cwd: folder,
      encoding: 'utf8',
    });
    if (status === 0 && fs.existsSync(path.join(bin, 'node'))) return;
    throw new CommandError(`npm cannot fetch node@${wanted}. Check the connection. ${stderr.trim()}`);
  });
  return bin;
}
