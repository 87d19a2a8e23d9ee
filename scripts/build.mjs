// npm run build: compiles everything and leaves packages that can be published in dist/libs/*, or below another folder.
import './lib/node-version.mjs';
import path from 'node:path';
import { command } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';
import { root } from './lib/project.mjs';

await command(async () => {
  await prepare();
  const { leavePackages } = await import('./lib/packages.mjs'); // what it needs may just have been installed
  const target = path.resolve(process.argv[2] ?? path.join(root, 'dist/libs'));
  for (const folder of await leavePackages(target)) console.log(path.relative(process.cwd(), folder));
  return 0;
});
