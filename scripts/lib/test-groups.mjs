import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { dataFolder, root } from './project.mjs';

/** Jest loads every module anew for each file that it runs: Nest and TypeORM alone take longer than most files do. */
const FILES_OF_A_GROUP = 12;
/** Unit tests load little. */
const UNITS_OF_A_GROUP = 60;
const DAY_MS = 24 * 60 * 60 * 1000;

export const groupsFolder = path.join(dataFolder, 'test-groups');

/**
 * Writes files that import those given, a few of one folder together, and gives their paths. Their names follow from what
 * is in them, so that runs at the same time do not disturb each other, and Jest remembers how long each has taken.
 * @param {readonly string[]} files
 */
export function writeGroups(files) {
  fs.mkdirSync(groupsFolder, { recursive: true });
  removeOldGroups();
  /** @type {Map<string, string[]>} */
  const folders = new Map();
  for (const file of files) folders.set(folderOf(file), [...(folders.get(folderOf(file)) ?? []), file]);
  return [...folders].flatMap(([folder, members]) => {
    const parts = Math.ceil(members.length / (folder === 'units' ? UNITS_OF_A_GROUP : FILES_OF_A_GROUP));
    return Array.from({ length: parts }, (_, part) =>
      writeGroup(
        parts > 1 ? `${folder}-${part + 1}` : folder,
        members.filter((_, index) => Math.floor((index * parts) / members.length) === part),
      ),
    );
  });
}

/** @param {string} file */
function folderOf(file) {
  const [top, folder = '', ...rest] = file.split('/');
  if (top !== 'test') return 'units';
  return rest.length > 0 ? folder : 'others';
}

/**
 * @param {string} name
 * @param {readonly string[]} members
 */
function writeGroup(name, members) {
  const imports = members.map((file) => {
    const relative = path.relative(groupsFolder, path.join(root, file)).replaceAll(path.sep, '/');
    return `import '${relative.replace(/\.ts$/, '.js')}';\n`;
  });
  const text = imports.join('');
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 8);
  const file = path.join(groupsFolder, `${name}.${hash}.spec.ts`);
  fs.writeFileSync(file, text);
  return file;
}

function removeOldGroups() {
  for (const name of fs.readdirSync(groupsFolder)) {
    const file = path.join(groupsFolder, name);
    if (fs.statSync(file).mtimeMs < Date.now() - DAY_MS) fs.rmSync(file, { force: true });
  }
}
