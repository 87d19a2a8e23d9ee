import { linesOf, MAX_RECORD } from './text-lines.js';

/** A record of a statement, or why it is unreadable. `line` counts from 1 and is the first line of the record. */
export type StatementRecord =
  | { readonly line: number; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly line: number; readonly flaw: string };

const SEPARATORS = [',', ';', '\t'];

/**
 * Reads CSV (RFC 4180) separated by comma, semicolon or tab, whichever is most frequent in the first line. The first record
 * is the header; empty lines are skipped.
 * @param checkHeader called with the column names before any row is read
 */
export async function* readDelimited(
  parts: AsyncIterable<string>,
  checkHeader: (names: readonly string[]) => void,
): AsyncGenerator<StatementRecord> {
  let names: readonly string[] | undefined;
  let separator = ',';
  for await (const { line, text } of recordsOf(linesOf(parts))) {
    if (text === undefined) {
      yield { line, flaw: 'A quoted field that begins here does not end; nothing after it was read.' };
      continue;
    }
    if (names === undefined) separator = separatorOf(text);
    const values = split(text, separator);
    if (values === undefined)
      yield {
        line,
        flaw: 'Its quotes do not match: a field that contains a quote must be in quotes, with the quote doubled.',
      };
    else if (names === undefined) {
      names = values.map((name) => name.trim());
      checkHeader(names);
    } else if (values.length !== names.length) {
      yield { line, flaw: `It has ${values.length} fields, and the header has ${names.length}.` };
    } else yield { line, fields: Object.fromEntries(names.map((name, index) => [name, values[index]])) };
  }
}

/** Joins the lines of a multi-line quoted field; `text` is undefined if the field never ends. */
async function* recordsOf(lines: AsyncIterable<string>): AsyncGenerator<{ line: number; text: string | undefined }> {
  let number = 0;
  let open: { line: number; lines: string[]; length: number } | undefined;
  for await (const text of lines) {
    number += 1;
    const hasOddQuotes = text.split('"').length % 2 === 0;
    if (open) {
      open.lines.push(text);
      open.length += text.length;
      if (open.length > MAX_RECORD) break;
      if (!hasOddQuotes) continue;
      yield { line: open.line, text: open.lines.join('\n') };
      open = undefined;
    } else if (hasOddQuotes) open = { line: number, lines: [text], length: text.length };
    else if (text.trim() !== '') yield { line: number, text };
  }
  if (open) yield { line: open.line, text: undefined };
}

function separatorOf(header: string): string {
  const unquoted = header.replaceAll(/"[^"]*"/g, '');
  const counts = SEPARATORS.map((separator) => unquoted.split(separator).length);
  return SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ',';
}

function split(record: string, separator: string): string[] | undefined {
  if (!record.includes('"')) return record.split(separator);
  const values: string[] = [];
  for (let at = 0; ; at += separator.length) {
    let end: number;
    if (record[at] === '"') {
      const quote = closingQuote(record, at + 1);
      if (quote < 0) return undefined;
      values.push(record.slice(at + 1, quote).replaceAll('""', '"'));
      end = quote + 1;
    } else {
      const next = record.indexOf(separator, at);
      end = next < 0 ? record.length : next;
      values.push(record.slice(at, end));
    }
    if (end >= record.length) return values;
    if (!record.startsWith(separator, end)) return undefined;
    at = end;
  }
}

/** Skips doubled quotes, which stand for one. */
function closingQuote(record: string, from: number): number {
  for (let at = record.indexOf('"', from); at >= 0; at = record.indexOf('"', at + 2)) {
    if (record[at + 1] !== '"') return at;
  }
  return -1;
}
