import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

const root = path.resolve(import.meta.dirname, '../..');
const sources = path.join(root, 'libs/payment-acceptance/src');
const document = fs.readFileSync(path.join(root, 'docs/architecture.md'), 'utf8');
const decisions = path.join(root, 'docs/decisions');
const files = fs.readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));

test('every file and symbol that docs/architecture.md names is there', () => {
  const named = spansOf(document).filter(isFile);
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((name) => !isThere(name))).toEqual([]);
});

test.each(fs.readdirSync(decisions))('every file and member that the decision %s names is there', (decision) => {
  const spans = spansOf(fs.readFileSync(path.join(decisions, decision), 'utf8'));
  const members = spans.filter((text) => /^[A-Z]\w+\.\w+$/.test(text) && !(text.split('.')[0]! in globalThis));
  const classes = files.map((file) => read(file)).join('\n');
  expect(spans.filter(isFile).filter((name) => !isThere(name) && !isUnique(name))).toEqual([]);
  expect(members.filter((name) => !classes.includes(`class ${name.split('.')[0]}`))).toEqual([]);
});

test('every code in kebab case that a comment names is in the code', () => {
  const packages = Object.keys(
    (JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')) as { devDependencies: object })
      .devDependencies,
  );
  const comment = /\/\*\*?[^]*?\*\/|^\s*\/\/.*$/gm;
  const texts = files.filter((file) => !file.endsWith('.spec.ts')).map((file) => read(file));
  const code = texts.map((text) => text.replaceAll(comment, '')).join('\n');
  const named = texts.flatMap((text) => [...text.matchAll(comment)].flatMap(([found]) => spansOf(found)));
  const codes = [...new Set(named.filter((text) => /^[a-z]+(-[a-z]+)+$/.test(text)))];
  expect(codes.length).toBeGreaterThan(5);
  expect(codes.filter((each) => !new RegExp(`['"\`/ ]${each}\\b`).test(code) && !packages.includes(each))).toEqual([]);
});

test('docs/architecture.md names every folder of the module', () => {
  const rows = document.slice(document.indexOf('## Layers'), document.indexOf('## How a payment flows'));
  const first = Array.from(rows.matchAll(/^\| (`[^|]*)\|/gm), ([, cell = '']) => cell);
  const folders = first.flatMap((cell) => Array.from(cell.matchAll(/`([\w-]+)`/g), ([, folder]) => folder));
  const present = fs.readdirSync(sources, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.toSorted()).toEqual(present.map(({ name }) => name).sort());
});

test('the state diagrams of docs/architecture.md have the states of the code', () => {
  const states = (declared: string): string[] =>
    Array.from(declared.matchAll(/'([A-Z]+)'/g), ([, state = '']) => state).sort();
  const drawn = (heading: string): string[] => {
    const diagram = /```mermaid([^]*?)```/.exec(document.slice(document.indexOf(heading)))?.[1] ?? '';
    return [...new Set(Array.from(diagram.matchAll(/\b[A-Z]{4,}\b(?=\s*(?:-->|:))/g), ([state]) => state))].sort();
  };
  const bill = read('domain/bill.ts');
  expect(drawn('## States of a bill')).toEqual(states(/type BillState = ([^;]*);/.exec(bill)?.[1] ?? ''));
  const delivery = read('operations/records.ts');
  expect(drawn('## States of a delivery')).toEqual(states(/type DeliveryState = ([^;]*);/.exec(delivery)?.[1] ?? ''));
});

function spansOf(text: string): string[] {
  return Array.from(text.replaceAll(/```[^]*?```/g, '').matchAll(/`([^`]+)`/g), ([, span = '']) => span);
}

function isFile(name: string): boolean {
  return /\.ts(#|$)/.test(name);
}

/** A file named without its folder, as there is one of this name alone. */
function isUnique(name: string): boolean {
  return files.filter((file) => path.basename(file) === name).length === 1;
}

function read(file: string): string {
  return fs.readFileSync(path.join(sources, file), 'utf8');
}

/** `folder/file.ts`, or `folder/file.ts#Symbol.member`: below the module's sources, or the project's root. */
function isThere(name: string): boolean {
  const [file = '', symbol] = name.split('#');
  const found = [path.join(sources, file), path.join(root, file)].find((each) => fs.existsSync(each));
  if (!found) return false;
  if (symbol === undefined) return true;
  const source = ts.createSourceFile(found, fs.readFileSync(found, 'utf8'), ts.ScriptTarget.Latest, true);
  return declares(source, symbol.split('.'));
}

function declares(within: ts.Node, [name, ...members]: readonly string[]): boolean {
  if (name === undefined) return true;
  return (
    ts.forEachChild(within, (node) => {
      if (ts.isVariableStatement(node) || ts.isVariableDeclarationList(node)) return declares(node, [name, ...members]);
      const declared = (node as { name?: ts.Node }).name;
      return declared?.getText() === name && declares(node, members);
    }) ?? false
  );
}
