/**
 * What a terminal or a log viewer obeys instead of showing it: control characters, C1 (a CSI of one character) included,
 * and those that turn the direction of what follows, so that a line reads otherwise than it is written.
 */
export const NON_PRINTING = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;
const BLANK = new RegExp(`[\\s${NON_PRINTING.source.slice(1)}+`, 'gu');

/** One line without control characters and half surrogate pairs: what any log, header or database column takes. */
export function cleanLine(text: string): string {
  return text.replace(BLANK, ' ').trim().toWellFormed();
}

/** The same text, character by character, with a mark for each that a log must not obey. */
export function shownText(text: string): string {
  return text.replace(NON_PRINTING, '\ufffd').toWellFormed();
}

/** The same of a text that may have several lines. */
export function shownLines(text: string): string {
  return text.split(/\r?\n/).map(shownText).join('\n');
}

/** A database text holds neither NUL nor half a surrogate pair; nothing that is kept has either. */
export function databaseText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}
