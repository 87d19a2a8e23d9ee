import { parse } from 'lossless-json';
import type { StatementRecord } from './delimited.js';
import { linesOf, MAX_RECORD } from './text-lines.js';

/** Reads one JSON object per line. Numbers are kept as text, with their digits unchanged. */
export async function* readJsonLines(parts: AsyncIterable<string>): AsyncGenerator<StatementRecord> {
  let line = 0;
  for await (const text of linesOf(parts)) {
    line += 1;
    if (text.trim() !== '') yield recordOf(line, text);
  }
}

/** Reads a JSON array of objects one by one, without loading all of it. */
export async function* readJsonArray(parts: AsyncIterable<string>): AsyncGenerator<StatementRecord> {
  const scanner = new ArrayScanner();
  for await (const part of parts) {
    for (const { line, text } of scanner.take(part)) yield recordOf(line, text);
    if (scanner.length > MAX_RECORD) {
      yield { line: scanner.line, flaw: 'An object that begins here does not end; nothing after it was read.' };
      return;
    }
  }
  if (!scanner.isClosed) yield { line: scanner.line, flaw: 'The array does not end: the file is cut off.' };
  else if (scanner.surplus) yield { line: scanner.line, flaw: 'Something follows the end of the array.' };
}

function recordOf(line: number, text: string): StatementRecord {
  try {
    const value: unknown = parse(text, undefined, { parseNumber: (digits) => digits });
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return { line, fields: value as Readonly<Record<string, unknown>> };
    }
    return { line, flaw: 'It is not a JSON object.' };
  } catch {
    return { line, flaw: 'It is not JSON.' };
  }
}

/** Finds where the elements of an array begin and end. */
class ArrayScanner {
  /** First line of the current element. */
  line = 1;
  isClosed = false;
  surplus = false;
  private depth = 0;
  private now = 1;
  private text = '';
  private inString = false;
  private isEscaped = false;

  /** Characters of the current element so far. */
  get length(): number {
    return this.text.length;
  }

  /** Returns the elements that end in this part. */
  *take(part: string): Generator<{ line: number; text: string }> {
    let from = this.text === '' ? -1 : 0;
    for (let at = 0; at < part.length; at += 1) {
      const each = part[at] ?? '';
      if (each === '\n') this.now += 1;
      if (this.inString) this.readString(each);
      else if (/\s/.test(each)) continue;
      else if (this.isClosed) this.surplus = true;
      else if (this.depth === 0) this.depth = 1;
      else if (this.depth === 1 && (each === ',' || each === ']')) {
        const text = this.text + (from < 0 ? '' : part.slice(from, at));
        if (text !== '' || each === ',') yield { line: text === '' ? this.now : this.line, text };
        this.text = '';
        from = -1;
        this.isClosed = each === ']';
      } else {
        if (from < 0) {
          from = at;
          this.line = this.now;
        }
        if (each === '"') this.inString = true;
        else if (each === '{' || each === '[') this.depth += 1;
        else if (each === '}' || each === ']') this.depth -= 1;
      }
    }
    if (from >= 0) this.text += part.slice(from);
  }

  private readString(each: string): void {
    if (this.isEscaped) this.isEscaped = false;
    else if (each === '\\') this.isEscaped = true;
    else if (each === '"') this.inString = false;
  }
}
