import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');
const document = fs.readFileSync(path.join(root, 'docs/guarantees.md'), 'utf8');
const shownBy = Array.from(document.matchAll(/^\|.*\|([^|]*)\|$/gm), ([, cell = '']) => cell).flatMap((cell) =>
  Array.from(cell.matchAll(/`([^`]+)`/g), ([, name = '']) => name),
);

test('every test that docs/guarantees.md names is there', () => {
  const tests = shownBy.filter((name) => !name.startsWith('npm run '));
  expect(tests.length).toBeGreaterThan(80);
  expect(tests.filter((name) => !isThere(name))).toEqual([]);
});

test('every command that docs/guarantees.md names exists', () => {
  const { scripts } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')) as { scripts: object };
  const commands = shownBy.flatMap((name) => /^npm run ([\w:]+)/.exec(name)?.[1] ?? []);
  expect(commands.length).toBeGreaterThan(3);
  expect(commands.filter((command) => !(command in scripts))).toEqual([]);
});

/** The beginning of the path of a spec, or of a folder with specs, below `test` or the module's sources. */
function isThere(name: string): boolean {
  return ['test', 'libs/payment-acceptance/src'].some((folder) => {
    const within = path.join(root, folder, path.dirname(`${name}*`));
    if (!fs.existsSync(within)) return false;
    const begins = name.endsWith('/') ? '' : path.basename(name);
    return fs
      .readdirSync(within, { recursive: true, encoding: 'utf8' })
      .some((file) => file.startsWith(begins) && file.endsWith('.spec.ts'));
  });
}
