import { inspect } from 'node:util';
import { shownLines, shownText, NON_PRINTING_PATTERN } from '../common/text.js';

/**
 * Where a command writes: results to `out`, everything else to `err`. A terminal obeys control characters, and texts such as
 * order ids are untrusted. So external text goes through {@link shownText}, and JSON documents through {@link jsonText}.
 */
export interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

export function printJson({ out }: Output, document: unknown): void {
  out(`${jsonText(document, 2)}\n`);
}

/** With `--json`, standard output gets exactly one JSON document, also on failure. */
export function printFailure(output: Output, error: { code: string; message: string }, isJson: boolean): void {
  if (isJson) printJson(output, { error });
  else output.err(`${shownLines(error.message)}\n`);
}

/** JSON without any character that a terminal would obey. */
export function jsonText(value: unknown, indent = 0): string {
  const text = JSON.stringify(value, null, indent);
  // JSON.stringify escapes only control characters below U+0020.
  return text.replace(NON_PRINTING_PATTERN, (character) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

export function printFields({ out }: Output, fields: Readonly<Record<string, unknown>>): void {
  const width = Math.max(...Object.keys(fields).map((name) => name.length));
  for (const [name, value] of Object.entries(fields)) out(`${name.padEnd(width)}  ${formatValue(value)}\n`);
}

/**
 * A CSV record (RFC 4180). Text that a spreadsheet would take for a formula gets an apostrophe in front; numbers do
 * not.
 */
export function csvLine(values: readonly (string | null)[]): string {
  return `${values.map((value) => quoteCsv(value ?? '')).join(',')}\r\n`;
}

function quoteCsv(value: string): string {
  // Some spreadsheets accept the full-width forms of the signs, too.
  const formula = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r]/.test(value) && !/^-\d+(\.\d+)?$/.test(value);
  const shown = shownText(value);
  const text = formula ? `'${shown}` : shown;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function formatValue(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(formatValue).join(', ');
  if (value === null) return '-';
  return shownText(typeof value === 'string' ? value : inspect(value, { breakLength: Infinity }));
}
