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
])('%j becomes one line that reads as it is written', (text, line) => {
  expect(cleanLine(text)).toBe(line);
});

test('what is shown as it is keeps its length, with a mark for what a terminal would obey', () => {
  expect(shownText(`a  b${CSI}${TURNED}\n`)).toBe('a  b\ufffd31m\ufffdgnp.exe\ufffd\ufffd');
});

test('what a database takes has no NUL and no half pair, and is otherwise the same', () => {
  expect(databaseText('a\0b\ud800 \u009b')).toBe('ab\ufffd \u009b');
});
