import { inspect } from 'node:util';

/** A token that cannot be printed by accident: `String()`, JSON and `util.inspect` all show a placeholder. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The token itself. Call it where the token is used, and do not store the result in a field. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}

/**
 * Hides the secrets of an object behind accessors: they can be read, set and spread as before, but JSON and
 * `util.inspect` do not show them. Returns the same object.
 */
export function conceal<T extends object>(options: T, ...secrets: (keyof T)[]): T {
  for (const name of secrets) {
    let value = options[name];
    const set = (other: T[keyof T]): void => void (value = other);
    Object.defineProperty(options, name, { get: () => value, set, enumerable: true });
  }
  const shown = Object.fromEntries(secrets.map((name) => [name, '[secret]']));
  return Object.defineProperty(options, 'toJSON', { value: () => ({ ...options, ...shown }), enumerable: false });
}
