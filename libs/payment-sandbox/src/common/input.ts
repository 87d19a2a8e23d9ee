import { SandboxError } from './errors.js';

export type Fields = Record<string, unknown>;

/** A JSON object with no fields but the `allowed` ones. `undefined` and `null` count as an empty object. */
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

/** The named field; `undefined` if it is absent or `null`. */
export function fieldOf(fields: Fields, name: string): unknown {
  return fields[name] ?? undefined;
}

/** The named field as one of `values`, or `undefined` if absent. */
export function readChoice<T extends string>(fields: Fields, name: string, values: readonly T[]): T | undefined {
  const value = fieldOf(fields, name);
  if (value === undefined) return undefined;
  const choice = values.find((candidate) => candidate === value);
  if (choice === undefined) throw new SandboxError(400, `${name} must be one of ${values.map(quote).join(', ')}`);
  return choice;
}

/** The named field as true or false, or `undefined` if absent. */
export function readFlag(fields: Fields, name: string): boolean | undefined {
  const value = fieldOf(fields, name);
  if (value === undefined || typeof value === 'boolean') return value;
  throw new SandboxError(400, `${name} must be true or false`);
}

/** The named field as a whole number within the bounds, or `undefined` if absent. */
export function readWhole(fields: Fields, name: string, min: number, max: number): number | undefined {
  const value = fieldOf(fields, name);
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw new SandboxError(400, `${name} must be a whole number from ${min} to ${max}`);
}

/** The named field as an object of strings (a callback's fields to set), or `undefined` if absent. */
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

/** Whether the text is an absolute http or https address. */
export function isHttpAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function quote(text: string): string {
  return JSON.stringify(text);
}
