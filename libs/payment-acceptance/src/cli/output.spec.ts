import { describe, expect, test } from '@jest/globals';
import { csvLine, printFields, printJson } from './output.js';

describe('a cell of the CSV', () => {
  test.each([
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-1+cmd', "'-1+cmd"],
    ['-1.00\n=1', "'-1.00\ufffd=1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "'\ufffd=1"],
    ['\r=1', "'\ufffd=1"],
    [' =1+1', "' =1+1"],
    ['\uff1d1+1', "'\uff1d1+1"],
    ['=HYPERLINK("x","y")', `"'=HYPERLINK(""x"",""y"")"`],
  ])('the CSV cell %j is written as text, not as a formula', (value, cell) => {
    expect(csvLine([value])).toBe(`${cell}\r\n`);
  });

  test.each(['-1.00', '-5', '100.05', 'A-1', '2026-11-21 12:00:00', ''])(
    'the CSV cell %j is written unchanged',
    (value) => {
      expect(csvLine([value, null])).toBe(`${value},\r\n`);
    },
  );
});

test('no output format prints a terminal control character', () => {
  const orderId = 'A\u001b[2J\u009b31m\u202eB\u2028';
  let printed = '';
  const output = { out: (text: string) => void (printed += text), err: () => undefined };
  printFields(output, { orderId, list: [orderId], nested: { orderId } });
  printJson(output, { orderId });
  const json = printed.slice(printed.indexOf('{\n'));
  expect(JSON.parse(json)).toEqual({ orderId });
  printed += csvLine([orderId]).trimEnd();
  expect(printed.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e\u2028]/u);
  expect(csvLine([orderId])).toBe('A\ufffd[2J\ufffd31m\ufffdB\ufffd\r\n');
});
