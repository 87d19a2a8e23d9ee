// npm run build: compiles everything and leaves packages that can be published in dist/libs/*.
import './lib/node-version.mjs';
import fs from 'node:fs';
import path from 'node:path';
import { command } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';
import { root } from './lib/project.mjs';

await command(async () => {
  await prepare();
  const { compilePackage } = await import('./lib/compile-package.mjs'); // its compiler may just have been installed
  for (const name of fs.readdirSync(path.join(root, 'libs'))) {
    const library = path.join(root, 'libs', name);
    const target = path.join(root, 'dist/libs', name);
    const manifest = published(JSON.parse(fs.readFileSync(path.join(library, 'package.json'), 'utf8')));
    fs.rmSync(target, { recursive: true, force: true });
    await compilePackage(library, manifest, target);
    for (const file of [path.join(library, 'README.md'), path.join(root, 'CHANGELOG.md'), path.join(root, 'LICENSE')]) {
      fs.copyFileSync(file, path.join(target, path.basename(file)));
    }
    fs.writeFileSync(path.join(target, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    console.log(`dist/libs/${name}`);
  }
  return 0;
});

/** Without what only this repository understands: the way to the sources, scripts, development dependencies. */
function published({ scripts: _scripts, devDependencies: _devDependencies, ...manifest }) {
  return JSON.parse(JSON.stringify(manifest), (key, value) => (key === 'payment-source' ? undefined : value));
}
