import { describe, expect, test } from '@jest/globals';
import { csvLine } from './output.js';

describe('a cell of the CSV', () => {
  test.each([
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-1+cmd', "'-1+cmd"],
    ['-1.00\n=1', `"'-1.00\n=1"`],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "'\t=1"],
    ['\r=1', `"'\r=1"`],
    ['=HYPERLINK("x","y")', `"'=HYPERLINK(""x"",""y"")"`],
  ])('%j is text, no formula', (value, cell) => {
    expect(csvLine([value])).toBe(`${cell}\r\n`);
  });

  test.each(['-1.00', '-5', '100.05', 'A-1', '2026-11-21 12:00:00', ''])('%j stays', (value) => {
    expect(csvLine([value, null])).toBe(`${value},\r\n`);
  });
});
