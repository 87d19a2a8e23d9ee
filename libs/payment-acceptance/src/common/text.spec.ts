import { expect, test } from '@jest/globals';
import { cleanLine, databaseText, shownText } from './text.js';

const ESC = '\u001b[31m';
const CSI = '\u009b31m';
const TURNED = '\u202egnp.exe\u202c';

test.each([
  ['two\r\n lines', 'two lines'],
  [`red ${ESC}text`, 'red [31mtext'],
  [`red ${CSI}text`, 'red 31mtext'],
  ['next\u0085line\u2028and\u2029more', 'next line and more'],
  [`a ${TURNED} b`, 'a gnp.exe b'],
  ['a\u2066b\u2069c\u200ed\u200fe\u061cf', 'a b c d e f'],
  ['half \ud800 pair', 'half \ufffd pair'],
  ['Zażółć gęślą jaźń 💳 שלום', 'Zażółć gęślą jaźń 💳 שלום'],
])('cleanLine turns %j into one readable line', (text, line) => {
  expect(cleanLine(text)).toBe(line);
});

test('shownText keeps the length of a text and shows terminal control characters as a mark', () => {
  expect(shownText(`a  b${CSI}${TURNED}\n`)).toBe('a  b\ufffd31m\ufffdgnp.exe\ufffd\ufffd');
});

test('databaseText drops NUL, replaces lone surrogates, and changes nothing else', () => {
  expect(databaseText('a\0b\ud800 \u009b')).toBe('ab\ufffd \u009b');
});
