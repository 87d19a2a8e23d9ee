// npm run api: writes what the libraries' entries export into etc/*.api.md, and the schemas of the events. With --check only
// says where that differs.
import './lib/node-version.mjs';
import fs from 'node:fs';
import path from 'node:path';
import { command } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';
import { root } from './lib/project.mjs';
import { argumentsOf, isCheck } from './lib/usage.mjs';

const [check] = argumentsOf(
  'npm run api [-- --check]\n\nWrites what the libraries export into etc/, and the schemas of the events. --check only says ' +
    'where that differs.',
  isCheck,
);

await command(async () => {
  await prepare();
  const { apiReport } = await import('./lib/api-report.mjs');
  const { contractFiles, SCHEMAS } = await import('../test/contract/files.mjs');
  const { format, resolveConfig } = await import('prettier');
  const libraries = fs.readdirSync(path.join(root, 'libs'));
  const written = [
    ...libraries.map((name) => ({
      name: `etc/${name}.api.md`,
      text: apiReport(path.join(root, 'libs', name)),
      source: 'what the library exports',
    })),
    ...Object.entries(contractFiles()).map(([name, content]) => ({
      name: `${SCHEMAS}/${name}`,
      text: JSON.stringify(content),
      source: 'what the types of the events say',
    })),
  ];
  let differing = 0;
  for (const { name, text, source } of written) {
    const file = path.join(root, name);
    const formatted = await format(text, { ...(await resolveConfig(file)), filepath: file });
    if (formatted === read(file)) continue;
    if (check) {
      console.error(
        `${name} is not ${source}. If the change is meant, run "npm run api", look at what git says has changed, and tell ` +
          'users in CHANGELOG.md.',
      );
      differing += 1;
    } else {
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, formatted);
      console.log(`${name} is written.`);
    }
  }
  return differing;
});

/** @param {string} file */
function read(file) {
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : undefined;
}
