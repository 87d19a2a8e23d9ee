/** A number written to JSON as its own text, so that `100.00` stays `100.00`. */
export class JsonNumber {
  constructor(readonly text: string) {}
}

/** JSON text of plain values and {@link JsonNumber}s. */
export function jsonText(value: unknown): string {
  if (value instanceof JsonNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${jsonText(member)}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value ?? null);
}

/**
 * Parses JSON with every number read as its text (`1e+06` becomes `"1e+06"`), so that no amount passes through
 * floating point. Throws a `SyntaxError` as `JSON.parse` does.
 */
export function parseJsonWithNumbersAsText(text: string): unknown {
  JSON.parse(text); // the pattern below holds for valid JSON only
  const quoted = text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    token.startsWith('"') ? token : `"${token}"`,
  );
  return JSON.parse(quoted);
}
