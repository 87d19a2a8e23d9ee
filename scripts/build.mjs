// npm run build: compiles everything and leaves packages that can be published in dist/libs/*, or below another folder.
import './lib/node-version.mjs';
import os from 'node:os';
import path from 'node:path';
import { command } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';
import { root } from './lib/project.mjs';
import { argumentsOf, isWord } from './lib/usage.mjs';

const [folder = path.join(root, 'dist/libs')] = argumentsOf(
  'npm run build [-- FOLDER]\n\nCompiles everything and leaves the packages in FOLDER, or else in dist/libs.',
  isWord,
);

await command(async () => {
  await prepare();
  const { leavePackages, pack } = await import('./lib/packages.mjs'); // what it needs may just have been installed
  for (const each of await leavePackages(path.resolve(folder))) {
    const { size, unpackedSize } = pack(each, os.tmpdir(), { dryRun: true });
    console.log(`${path.relative(process.cwd(), each)}: ${kB(size)} packed, ${kB(unpackedSize)} unpacked`);
  }
  return 0;
});

function kB(/** @type {number} */ bytes) {
  return `${Math.round(bytes / 1000)} kB`;
}
