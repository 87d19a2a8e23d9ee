import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

const root = path.resolve(import.meta.dirname, '../..');
const sources = path.join(root, 'libs/payment-acceptance/src');
const document = fs.readFileSync(path.join(root, 'docs/architecture.md'), 'utf8');
const spans = Array.from(document.replaceAll(/```[^]*?```/g, '').matchAll(/`([^`]+)`/g), ([, text = '']) => text);

test('every file and symbol that docs/architecture.md names is there', () => {
  const named = spans.filter((text) => /\.ts(#|$)/.test(text));
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((name) => !isThere(name))).toEqual([]);
});

test('it names every folder of the module', () => {
  const rows = document.slice(document.indexOf('## Layers'), document.indexOf('## How a payment flows'));
  const first = Array.from(rows.matchAll(/^\| (`[^|]*)\|/gm), ([, cell = '']) => cell);
  const folders = first.flatMap((cell) => Array.from(cell.matchAll(/`(\w+)`/g), ([, folder]) => folder));
  const present = fs.readdirSync(sources, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.toSorted()).toEqual(present.map(({ name }) => name).sort());
});

test('its state diagrams have the states that the code has', () => {
  const states = (declared: string): string[] =>
    Array.from(declared.matchAll(/'([A-Z]+)'/g), ([, state = '']) => state).sort();
  const drawn = (heading: string): string[] => {
    const diagram = /```mermaid([^]*?)```/.exec(document.slice(document.indexOf(heading)))?.[1] ?? '';
    return [...new Set(Array.from(diagram.matchAll(/\b[A-Z]{4,}\b(?=\s*(?:-->|:))/g), ([state]) => state))].sort();
  };
  const bill = read('domain/bill.ts');
  expect(drawn('## States of a bill')).toEqual(states(/type BillState = ([^;]*);/.exec(bill)?.[1] ?? ''));
  const delivery = read('domain/delivery.ts');
  expect(drawn('## States of a delivery')).toEqual(states(/type DeliveryState = ([^;]*);/.exec(delivery)?.[1] ?? ''));
});

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
