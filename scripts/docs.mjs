// npm run docs: writes the tables of the documentation that come from docstrings in the sources. With --check it only
// says whether they are up to date.
import './lib/node-version.mjs';
import fs from 'node:fs';
import path from 'node:path';
import { docstringTables } from './lib/docstring-tables.mjs';
import { root } from './lib/project.mjs';

const generated = [
  { document: 'docs/configuration.md', source: 'libs/payment-acceptance/src/config/options.ts', column: 'option' },
  { document: 'docs/events.md', source: 'libs/payment-acceptance/src/events/payment-events.ts', column: 'field' },
];
const [begin, end] = ['<!-- written by `npm run docs` -->\n', '<!-- /written -->'];

for (const { document, source, column } of generated) {
  const file = path.join(root, document);
  const before = fs.readFileSync(file, 'utf8');
  const [head, rest] = split(document, before, begin);
  const [, tail] = split(document, rest, end);
  const after = `${head}${begin}\n${await docstringTables(path.join(root, source), column)}\n${end}${tail}`;
  if (!process.argv.includes('--check')) fs.writeFileSync(file, after);
  else if (before !== after) {
    console.error(`${document} is not what the docstrings of ${source} say: run \`npm run docs\`.`);
    process.exitCode = 1;
  }
}

function split(document, text, mark) {
  const at = text.indexOf(mark);
  if (at < 0) throw new Error(`${document} has no line "${mark.trim()}".`);
  return [text.slice(0, at), text.slice(at + mark.length)];
}
