import { SandboxError } from './errors.js';

export type Fields = Record<string, unknown>;

/** Refuses fields other than the `allowed` ones. `undefined` and `null` count as an empty object. */
export function readFields(value: unknown, what: string, allowed: readonly string[]): Fields {
  const fields = value ?? {};
  if (!isFields(fields)) throw new SandboxError(400, `${what} must be a JSON object`);
  for (const name of Object.keys(fields)) {
    if (!allowed.includes(name)) {
      throw new SandboxError(400, `${what}: unknown field ${quote(name)}; the known ones are ${allowed.join(', ')}`);
    }
  }
  return fields;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `undefined` if the field is absent or `null`. */
export function fieldOf(fields: Fields, name: string): unknown {
  return fields[name] ?? undefined;
}

/**
 * `undefined` if the field is absent or `null`.
 * @param read returns `undefined` for a value that breaks the rule
 */
export function readField<T>(
  fields: Fields,
  name: string,
  rule: string,
  read: (value: unknown) => T | undefined,
): T | undefined {
  const value = fieldOf(fields, name);
  if (value === undefined) return undefined;
  const result = read(value);
  if (result === undefined) throw new SandboxError(400, `${name} must be ${rule}`);
  return result;
}

export function readChoice<T extends string>(fields: Fields, name: string, values: readonly T[]): T | undefined {
  const rule = `one of ${values.map(quote).join(', ')}`;
  return readField(fields, name, rule, (value) => values.find((candidate) => candidate === value));
}

export function readFlag(fields: Fields, name: string): boolean | undefined {
  return readField(fields, name, 'true or false', (value) => (typeof value === 'boolean' ? value : undefined));
}

export function readWhole(fields: Fields, name: string, min: number, max: number): number | undefined {
  return readField(fields, name, `a whole number from ${min} to ${max}`, (value) =>
    typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max ? value : undefined,
  );
}

export function readTexts(fields: Fields, name: string): Record<string, string> | undefined {
  const value = fieldOf(fields, name);
  if (value === undefined) return undefined;
  if (!isFields(value)) throw new SandboxError(400, `${name} must be an object of fields with text values`);
  const texts = new Map<string, string>();
  for (const [key, text] of Object.entries(value)) {
    if (typeof text !== 'string')
      throw new SandboxError(400, `${name}.${key} must be text, like all values of a callback`);
    texts.set(key, text);
  }
  return Object.fromEntries(texts);
}

export function isHttpAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function quote(text: string): string {
  return JSON.stringify(text);
}
