import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { beforeExit } from '../../scripts/lib/lifecycle.mjs';
import { root } from '../../scripts/lib/project.mjs';

const modules = 'node_modules';
const left = new Set([modules, 'dist', '.data', '.git']);

/**
 * A copy of the working tree in which code can be broken, in a temporary folder that goes with this process. Its
 * packages are the real ones, except that the project's own lead to the copy: what imports the library by its name
 * gets the broken code too. Nothing is built in it.
 */
export async function copyOfProject() {
  const folder = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'nest-payment-acceptance-copy-'));
  beforeExit(() => fs.rmSync(folder, { recursive: true, force: true }));
  for (const file of filesOfGit() ?? allFiles()) {
    const target = path.join(folder, file);
    fs.mkdirSync(path.dirname(target), { recursive: true });
    fs.cpSync(path.join(root, file), target, { verbatimSymlinks: true });
  }
  // npm puts a package that two parts need in different versions beside the part.
  for (const part of ['.', ...inside('libs'), ...inside('apps')]) {
    const from = path.join(root, part, modules);
    if (fs.existsSync(from)) linkPackages(from, path.join(folder, part, modules));
  }
  return { folder };
}

/** What is tracked, or new and not ignored; nothing where the project's folder is not a repository. */
function filesOfGit() {
  if (!fs.existsSync(path.join(root, '.git'))) return undefined;
  const list = execFileSync('git', ['ls-files', '-coz', '--exclude-standard'], { cwd: root, encoding: 'utf8' });
  // What is tracked may have been removed.
  return list.split('\0').filter((file) => file && fs.lstatSync(path.join(root, file), { throwIfNoEntry: false }));
}

/** @returns {string[]} */
function allFiles(folder = '.') {
  return fs.readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name);
    if (left.has(entry.name)) return [];
    return entry.isDirectory() ? allFiles(file) : [file];
  });
}

/** @param {string} folder */
function inside(folder) {
  return fs.readdirSync(path.join(root, folder)).map((name) => path.join(folder, name));
}

/**
 * Links every package, and takes over links as they are: `../libs/…` and `../jest/bin/…` then lead to the copy's own.
 * @param {string} from
 * @param {string} to
 */
function linkPackages(from, to) {
  fs.mkdirSync(to, { recursive: true });
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const [real, linked] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isSymbolicLink()) fs.symlinkSync(fs.readlinkSync(real), linked);
    else if (entry.isDirectory() && /^(@|\.bin$)/.test(entry.name)) linkPackages(real, linked);
    else fs.symlinkSync(real, linked);
  }
}
