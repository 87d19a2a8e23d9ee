import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';

const KINDS = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];
const text = fs.readFileSync(path.resolve(import.meta.dirname, '../../CHANGELOG.md'), 'utf8');
const [, ...releases] = text.split(/^## /m);

test('the changelog begins with what is not released, and every release has a version and a day', () => {
  const titles = releases.map((release) => release.split('\n', 1)[0]);
  expect(titles[0]).toBe('[Unreleased]');
  for (const title of titles.slice(1)) expect(title).toMatch(/^\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}$/);
});

test.each(releases)('each kind of change stands once in a release, in the usual order, as a list: %.20s', (release) => {
  const sections = release.split(/^### /m).slice(1);
  const kinds = sections.map((section) => section.split('\n', 1)[0] ?? '');
  expect(kinds).toEqual(KINDS.filter((kind) => kinds.includes(kind)));
  for (const section of sections) {
    const [first = '', ...entries] = section.split('\n').slice(1).join('\n').split(/^- /m);
    expect([first.trim(), entries.length > 0]).toEqual(['', true]);
    // What a reader takes in at a glance; the rest belongs in the documents.
    expect(entries.filter((entry) => entry.length > 400 || /\n\S/.test(entry.trim()))).toEqual([]);
  }
});
