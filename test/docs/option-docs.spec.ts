import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {
  listOfMilliseconds,
  milliseconds,
  text,
  wholeNumber,
} from '../../libs/payment-acceptance/src/config/option-rule.js';
import { docstringTables } from '../../scripts/lib/docstring-tables.mjs';

describe('the documentation of options', () => {
  let folder: string;
  beforeEach(() => void (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'option-docs-'))));
  afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

  /** The documentation of an option with this docstring and this rule, in a group. */
  function documented(docstring: string, rule: object): Promise<string> {
    const file = path.join(folder, 'options.ts');
    fs.writeFileSync(
      file,
      `/** All. */ interface Options { group?: GroupOptions }
    /** Some. */ interface GroupOptions {
      ${docstring}
      option?: unknown;
    }`,
    );
    return docstringTables([file], 'option', { Options: { group: { rules: { option: rule } } } });
  }

  test.each([
    [wholeNumber(5, { min: 0, max: 9 }), '5', 'a whole number from 0 to 9'],
    [wholeNumber(2 * 1024 ** 2, { unit: 'bytes' }), '2 MiB', 'of bytes'],
    [milliseconds(4_500), '4500', 'of milliseconds'],
    [milliseconds(60_000), '1 minute', 'of milliseconds'],
    [milliseconds(2 * 86_400_000), '2 days', 'of milliseconds'],
    [listOfMilliseconds([1_000, 3_600_000], 3_600_000), '1000, 1 hour', 'a list of'],
    [text('OK'), '`OK`', 'text'],
  ])(
    'an option row states the range of its rule, and its docstring must state the default: %#',
    async (rule, stated, takes) => {
      const row = new RegExp(`\\| \`option\\?\` +\\| [^|]*${takes}[^|]*\\| Does it\\. Default ${stated}, say\\. \\|`);
      expect(await documented(`/** Does it. Default ${stated}, say. */`, rule)).toMatch(row);
      for (const other of [`Default ${stated}0.`, 'Default 7.', 'It has none.']) {
        await expect(documented(`/** Does it. ${other} */`, rule)).rejects.toThrow(
          `GroupOptions.option: its docstring does not say "Default ${stated}", as its rule does.`,
        );
      }
    },
  );

  test('a deprecated option says so in its table', async () => {
    const docstring = '/** Does it. Default 5.\n * @deprecated since 1.2.0: set `other`. */';
    expect(await documented(docstring, wholeNumber(5))).toMatch(
      /Default 5\. Deprecated: since 1\.2\.0: set `other`\. \|/,
    );
    await expect(documented('/** Does it. Default 5.\n * @see all */', wholeNumber(5))).rejects.toThrow('not @see');
  });

  test('an option without a docstring is refused', async () => {
    await expect(documented('', text())).rejects.toThrow('GroupOptions.option: has no docstring.');
  });
});
