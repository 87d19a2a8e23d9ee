/**
 * Control characters, including C1 (a one-character CSI), and those that reverse the text direction: a terminal or log
 * viewer interprets them, so a line could read differently from what it says.
 */
export const NON_PRINTING_PATTERN = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;
const BLANK_PATTERN = new RegExp(`[\\s${NON_PRINTING_PATTERN.source.slice(1)}+`, 'gu');

/** One line without control characters or lone surrogates, safe for any log or database column. */
export function cleanLine(text: string): string {
  return text.replace(BLANK_PATTERN, ' ').trim().toWellFormed();
}

/** The text with a replacement character for each character that a log must not interpret. */
export function shownText(text: string): string {
  return text.replace(NON_PRINTING_PATTERN, '\ufffd').toWellFormed();
}

/** Like {@link shownText}, but keeps line breaks. */
export function shownLines(text: string): string {
  return text.split(/\r?\n/).map(shownText).join('\n');
}

/** The text without NUL and lone surrogates, which databases reject. */
export function databaseText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}
