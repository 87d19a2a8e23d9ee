/** A number written to JSON as its own text, so that `100.00` stays `100.00`. */
export class JsonNumber {
  constructor(readonly text: string) {}
}

export function jsonText(value: unknown): string {
  if (value instanceof JsonNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${jsonText(member)}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value ?? null);
}

/** A complete JSON string, with its quotes. */
const STRING_PATTERN = '"[^"\\\\]*(?:\\\\.[^"\\\\]*)*"';
const SPACE_PATTERN = new RegExp(`(${STRING_PATTERN})|\\s+`, 'g');
const MEMBER_PATTERN = new RegExp(`^(${STRING_PATTERN}):(.*)$`, 's');
const TOKEN_PATTERN = new RegExp(`${STRING_PATTERN}|[{}[\\],]`, 'g');

/**
 * The values are as they were written but without white space between their parts, so that no number passes through
 * floating point. Returns no members for JSON that is not an object. Throws a `SyntaxError` as `JSON.parse` does.
 */
export function jsonMembers(text: string): [name: string, value: string][] {
  JSON.parse(text); // the patterns hold for valid JSON only
  const compact = text.replace(SPACE_PATTERN, '$1');
  if (!compact.startsWith('{')) return [];
  const members: string[] = [];
  let [depth, start] = [0, 1];
  for (const { 0: token, index } of compact.matchAll(TOKEN_PATTERN)) {
    if (token === '{' || token === '[') depth += 1;
    if (token === '}' || token === ']') depth -= 1;
    if (depth > 1 || (depth === 1 && token !== ',')) continue;
    members.push(compact.slice(start, index));
    start = index + 1;
  }
  return members.flatMap((member): [string, string][] => {
    const [, name, value] = MEMBER_PATTERN.exec(member) ?? [];
    return name === undefined || value === undefined ? [] : [[JSON.parse(name) as string, value]];
  });
}
