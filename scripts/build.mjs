// npm run build: compiles everything and leaves packages that can be published in dist/libs/*.
import './lib/node-version.mjs';
import fs from 'node:fs';
import path from 'node:path';
import { command } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';
import { root } from './lib/project.mjs';

await command(async () => {
  await prepare();
  for (const name of fs.readdirSync(path.join(root, 'libs'))) {
    leavePackage(path.join(root, 'libs', name), path.join(root, 'dist/libs', name));
    console.log(`dist/libs/${name}`);
  }
  return 0;
});

function leavePackage(library, target) {
  fs.rmSync(target, { recursive: true, force: true });
  fs.cpSync(path.join(library, 'dist'), path.join(target, 'dist'), {
    recursive: true,
    filter: (file) => !file.endsWith('.tsbuildinfo'),
  });
  for (const file of [path.join(library, 'README.md'), path.join(root, 'LICENSE')]) {
    if (fs.existsSync(file)) fs.copyFileSync(file, path.join(target, path.basename(file)));
  }
  const manifest = JSON.parse(fs.readFileSync(path.join(library, 'package.json'), 'utf8'));
  fs.writeFileSync(path.join(target, 'package.json'), `${JSON.stringify(published(manifest), null, 2)}\n`);
}

/** Without what only this repository understands: the way to the sources, scripts, development dependencies. */
function published({ scripts: _scripts, devDependencies: _devDependencies, ...manifest }) {
  return JSON.parse(JSON.stringify(manifest), (key, value) => (key === 'payment-source' ? undefined : value));
}
