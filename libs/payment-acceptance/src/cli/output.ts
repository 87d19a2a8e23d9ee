import { inspect } from 'node:util';

/** Where a command writes: results to `out`, all else to `err`. */
export interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

export function printJson({ out }: Output, document: unknown): void {
  out(`${JSON.stringify(document, null, 2)}\n`);
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
  const formula = /^[=+\-@\t\r]/.test(value) && !/^-\d+(\.\d+)?$/.test(value);
  const text = formula ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(shown).join(', ');
  if (value === null) return '-';
  return typeof value === 'string' ? value : inspect(value, { breakLength: Infinity });
}
