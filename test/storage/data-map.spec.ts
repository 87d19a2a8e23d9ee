import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { ON_MARIADB } from '../support/database.js';
import { startHarness, type Harness } from '../support/harness.js';
import { columnsOf } from '../support/personal-data.js';

const PAGE = readFileSync('docs/privacy.md', 'utf8');

/** The rows of the table under a heading, each as its cells. */
function rowsUnder(heading: string): string[][] {
  const [, text = ''] = PAGE.split(`### ${heading}\n`);
  const [section = ''] = text.split(/\n##/);
  const lines = section.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) => line.split('|').slice(1, -1));
}

const codes = (cell: string): string[] => Array.from(cell.matchAll(/`([\w.]+)`/g), ([, code = '']) => code);

/** The personal columns of one of the two tables, as `table.column`. */
const personal = (heading: string): string[] => rowsUnder(heading).flatMap(([columns = '']) => codes(columns));

/** The other columns, as `table.column`; those that only MariaDB has are left out on PostgreSQL. */
const others = (): string[] =>
  rowsUnder('Columns without personal data').flatMap(([table = '', columns = '']) => {
    const [shared = '', onMariaDb = ''] = columns.split('on MariaDB:');
    return codes(shared + (ON_MARIADB ? onMariaDb : '')).map((column) => `${codes(table)[0] ?? ''}.${column}`);
  });

describe('the data map of docs/privacy.md', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness();
  });
  afterAll(() => harness.close());

  test('the data map of docs/privacy.md lists every column once, and no other', async () => {
    const columns = (await columnsOf(harness.host.dataSource)).map(({ table, column }) => `${table}.${column}`);
    const named = [...personal('Personal data that is removed'), ...personal('Personal data that stays'), ...others()];
    expect(named.sort()).toEqual(columns.sort());
  });
});
