/** Characters that act instead of showing: control characters, and those that change the text direction. */
const NON_PRINTING_PATTERN = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

export function cleanLine(text: string): string {
  return text.replace(NON_PRINTING_PATTERN, ' ').replace(/\s+/g, ' ').trim().toWellFormed();
}

/** Keeps the lines, with a visible mark in place of each control character. */
export function shownLines(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => line.replace(NON_PRINTING_PATTERN, '\ufffd').toWellFormed())
    .join('\n');
}
