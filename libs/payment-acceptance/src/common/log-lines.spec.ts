import { describe, expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { LOG_LEVELS } from './log-lines.js';

const SOURCES = path.resolve('libs/payment-acceptance/src');

describe('the log lines', () => {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts') && file !== 'common/log-lines.ts')
    .map((file) => ({ file, text: readFileSync(path.join(SOURCES, file), 'utf8') }));

  // The compiler refuses a code that is not in the table.
  test.each(Object.keys(LOG_LEVELS))('the log code %s is used somewhere', (code) => {
    const logging = files.filter(({ text }) => /\.write\(|\.writePlain\(|answerRetryLater\(/.test(text));
    expect(logging.some(({ text }) => text.includes(`'${code}'`))).toBe(true);
  });

  test('all log lines go through PaymentLogger', () => {
    const others = files.filter(({ text }) => /\bnew (Console)?Logger\(/.test(text)).map(({ file }) => file);
    expect(others).toEqual(['common/payment-logger.ts']);
  });

  test('docs/operations.md lists every log code with its level and meaning', () => {
    const rows = readFileSync('docs/operations.md', 'utf8').matchAll(/^- `([a-z-]+)` \((debug|log|warn|error)\): \S/gm);
    const listed = Array.from(rows, ([, code, level]) => [code, level]);
    expect(listed).toEqual(Object.entries(LOG_LEVELS));
  });
});
