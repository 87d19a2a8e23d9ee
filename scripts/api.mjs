// npm run api: writes what the libraries' entries export into etc/*.api.md. With --check only says where that differs.
import './lib/node-version.mjs';
import fs from 'node:fs';
import path from 'node:path';
import { command } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';
import { root } from './lib/project.mjs';
import { argumentsOf, isCheck } from './lib/usage.mjs';

const [check] = argumentsOf(
  'npm run api [-- --check]\n\nWrites what the libraries export into etc/. --check only says where that differs.',
  isCheck,
);

await command(async () => {
  await prepare();
  const { apiReport } = await import('./lib/api-report.mjs');
  const { format, resolveConfig } = await import('prettier');
  let differing = 0;
  for (const name of fs.readdirSync(path.join(root, 'libs'))) {
    const file = path.join(root, 'etc', `${name}.api.md`);
    const report = await format(apiReport(path.join(root, 'libs', name)), {
      ...(await resolveConfig(file)),
      filepath: file,
    });
    if (report === read(file)) continue;
    if (check) {
      console.error(
        `etc/${name}.api.md is not what the library exports. If the change is meant, run "npm run api", look at what git ` +
          'says has changed, and tell users in CHANGELOG.md.',
      );
      differing += 1;
    } else {
      fs.writeFileSync(file, report);
      console.log(`etc/${name}.api.md is written.`);
    }
  }
  return differing;
});

/** @param {string} file */
function read(file) {
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : undefined;
}
