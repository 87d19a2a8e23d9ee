import { inspect } from 'node:util';
import { shownText, NON_PRINTING } from '../common/text.js';

/**
 * Where a command writes: results to `out`, all else to `err`. A terminal obeys control characters, and the id of an order
 * is anybody's text: what comes from outside goes through {@link shownText}, a JSON document as its own escapes.
 */
export interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

export function printJson({ out }: Output, document: unknown): void {
  out(`${jsonText(document, 2)}\n`);
}

/** JSON in which nothing is left that a terminal would obey. */
export function jsonText(value: unknown, indent = 0): string {
  const text = JSON.stringify(value, null, indent);
  // JSON escapes the controls below the space, and no others.
  return text.replace(NON_PRINTING, (character) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Names and values, one a line. */
export function printFields({ out }: Output, fields: Readonly<Record<string, unknown>>): void {
  const width = Math.max(...Object.keys(fields).map((name) => name.length));
  for (const [name, value] of Object.entries(fields)) out(`${name.padEnd(width)}  ${shown(value)}\n`);
}

/** A record of RFC 4180. Text that a spreadsheet would take for a formula has an apostrophe before it; numbers stay. */
export function csvLine(values: readonly (string | null)[]): string {
  return `${values.map((value) => quoted(value ?? '')).join(',')}\r\n`;
}

function quoted(value: string): string {
  // Wide forms of the signs count for some spreadsheets, too.
  const formula = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r]/.test(value) && !/^-\d+(\.\d+)?$/.test(value);
  const shown = shownText(value);
  const text = formula ? `'${shown}` : shown;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(shown).join(', ');
  if (value === null) return '-';
  return shownText(typeof value === 'string' ? value : inspect(value, { breakLength: Infinity }));
}
