import { createReadStream } from 'node:fs';

/** Longest record or line of a statement, in characters. */
export const MAX_RECORD = 1024 * 1024;

/**
 * The text of a file, in parts, without its byte order mark.
 * @throws TypeError if the file is not UTF-8: amounts would survive another encoding, but column names would not
 */
export async function* readText(file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const bytes of createReadStream(file)) {
    const text = decoder.decode(bytes as Buffer, { stream: true });
    if (text !== '') yield text;
  }
  const rest = decoder.decode();
  if (rest !== '') yield rest;
}

/** The lines of a text that comes in parts, without line ends. @throws RangeError if a line is too long */
export async function* linesOf(parts: AsyncIterable<string>): AsyncGenerator<string> {
  let begun = '';
  for await (const part of parts) {
    const lines = part.split('\n');
    lines[0] = begun + (lines[0] ?? '');
    begun = lines.pop() ?? '';
    for (const line of lines) yield withoutReturn(line);
    if (begun.length > MAX_RECORD) throw new RangeError(`A line has more than ${MAX_RECORD} characters.`);
  }
  if (begun !== '') yield withoutReturn(begun);
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
