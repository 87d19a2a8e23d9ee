import { inspect } from 'node:util';

/** A token that cannot be printed by accident: `String()`, JSON and `util.inspect` all show a placeholder. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The token itself. Call it where the token is used, and keep the result in no field. */
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
