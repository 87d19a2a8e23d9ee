/** Characters that are obeyed instead of shown: control characters, and those that turn the direction of what follows. */
const NON_PRINTING = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** One line, without what a page or a log would obey. */
export function cleanLine(text: string): string {
  return text.replace(NON_PRINTING, ' ').replace(/\s+/g, ' ').trim().toWellFormed();
}

/** The same lines, character by character, with a mark for each that a page must not obey. */
export function shownLines(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => line.replace(NON_PRINTING, '\ufffd').toWellFormed())
    .join('\n');
}
