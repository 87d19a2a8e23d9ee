// npm run docs: writes the tables of the documentation that come from docstrings and the options' rules. With --check it only
// says whether they are up to date; with --images it takes the pictures in docs/images.
import './lib/node-version.mjs';
import fs from 'node:fs';
import path from 'node:path';
import { docstringTables } from './lib/docstring-tables.mjs';
import { run } from './lib/children.mjs';
import { prepare } from './lib/prepare.mjs';
import { root } from './lib/project.mjs';
import { argumentsOf, isCheck } from './lib/usage.mjs';

const [argument] = argumentsOf(
  'npm run docs [-- --check | --images]\n\nWrites the tables of docs/ that are made of docstrings. --check only says where they differ. ' +
    '--images takes the pictures in docs/images from a real Chromium, as npm run test:browser does.',
  (each) => isCheck(each) || each === '--images',
);
const check = argument === '--check';

/** Each picture of docs/images, and the page of test/browser that it shows. */
const IMAGES = {
  shop: 'shop-products',
  'payment-page': 'pay-card',
  'sandbox-console': 'console-bill',
  'operator-console': 'operator-overview',
  'operator-bill': 'operator-bill',
};

await prepare();
if (argument === '--images') await takeImages();
const config = '../libs/payment-acceptance/dist/esm/config';
const { EXTRA_RULES, OPTION_RULES, SHOP_RULES } = await import(`${config}/option-rules.js`);

const generated = [
  {
    document: 'docs/configuration.md',
    sources: [
      'config/service-options.ts',
      'domain/schedule-options.ts',
      'database/storage-options.ts',
      'config/options.ts',
      'config/extras.ts',
    ],
    column: 'option',
    rules: {
      PaymentAcceptanceOptions: OPTION_RULES,
      PaymentAcceptanceExtras: EXTRA_RULES,
      PaymentShopOptions: SHOP_RULES,
    },
  },
  { document: 'docs/module.md', sources: ['bills/bill-request.ts'], column: 'field' },
  { document: 'docs/brokers.md', sources: ['brokers/options.ts'], column: 'option' },
  { document: 'docs/events.md', sources: ['domain/payment-events.ts'], column: 'field' },
];
const [begin, end] = ['<!-- written by `npm run docs` -->\n', '<!-- /written -->'];

for (const { document, sources, column, rules } of generated) {
  const file = path.join(root, document);
  const before = fs.readFileSync(file, 'utf8');
  const [head, rest] = split(document, before, begin);
  const [, tail] = split(document, rest, end);
  const written = await docstringTables(filesOf(sources), column, rules);
  const after = `${head}${begin}\n${written}\n${end}${tail}`;
  if (before === after) continue;
  if (!check) {
    fs.writeFileSync(file, after);
    console.log(`${document} is written.`);
  } else {
    console.error(`${document} is not what ${sources.join(' and ')} say: run \`npm run docs\`.`);
    process.exitCode = 1;
  }
}

/** @param {string[]} sources */
function filesOf(sources) {
  return sources.map((source) => path.join(root, 'libs/payment-acceptance/src', source));
}

/**
 * @param {string} document
 * @param {string} text
 * @param {string} mark
 * @returns {[before: string, after: string]}
 */
function split(document, text, mark) {
  const at = text.indexOf(mark);
  if (at < 0) throw new Error(`${document} has no line "${mark.trim()}".`);
  return [text.slice(0, at), text.slice(at + mark.length)];
}

/** The pictures are screenshots of the tests in a browser, so that they show what is tested. */
async function takeImages() {
  const code = await run(process.execPath, [path.join(root, 'scripts/browser.mjs'), 'pages.browser']);
  if (code !== 0) throw new Error('The tests in a browser have failed, so no picture was replaced.');
  for (const [image, screenshot] of Object.entries(IMAGES)) {
    const taken = path.join(root, '.data/screenshots', `${screenshot}-light-desktop.png`);
    fs.copyFileSync(taken, path.join(root, 'docs/images', `${image}.png`));
  }
}
