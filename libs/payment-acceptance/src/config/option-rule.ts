export interface OptionContext {
  readonly production: boolean;
  /** Whether the shop may use a sandbox even in production. */
  readonly allowSandbox?: boolean;
}

/** What an option accepts. Its meaning is in its docstring; `npm run docs` combines both into one table row. */
export interface OptionRule<T> {
  /** The accepted values in words, for errors and docs, e.g. `a whole number of milliseconds from 1 to 10000`. */
  readonly takes?: string;
  readonly unit?: string;
  readonly default?: T;
  /** Makes the option required; says what to set if it is missing. */
  readonly required?: string;
  /** Shops never share the value, and it is never shown. */
  readonly secret?: boolean;
  /** What is wrong with a value and what to set instead; error messages put it after the option's path. */
  readonly problem: (value: unknown, context: OptionContext) => string | undefined;
  /** Parses an environment variable; `undefined` if that fails. Without it, the option has no variable. */
  readonly fromText?: (text: string) => T | undefined;
}

/** Options nested under a name of their own. */
export interface OptionGroup<T> {
  readonly rules: OptionRules<T>;
  /** Accepted in place of the whole group: `false` switches the feature off, `true` keeps all defaults. */
  readonly mayBe?: readonly boolean[];
}

/** A rule for each option of an interface; the compiler rejects a missing rule, and one without an option. */
export type OptionRules<T> = { readonly [K in keyof T]-?: OptionRule<T[K]> | OptionGroup<Exclude<T[K], boolean>> };

export function group<T>(rules: OptionRules<T>, options: Pick<OptionGroup<T>, 'mayBe'> = {}): OptionGroup<T> {
  return { rules, ...options };
}

const MAX_INTEGER = 2 ** 31 - 1;

interface Range {
  readonly min?: number;
  readonly max?: number;
  readonly unit?: string;
}

export function wholeNumber(otherwise: number, { min = 1, max = MAX_INTEGER, unit }: Range = {}): OptionRule<number> {
  return {
    ...taking(`a whole number ${unit ? `of ${unit} ` : ''}from ${min} to ${max}`, isWhole(min, max)),
    unit,
    default: otherwise,
    fromText: (variable) => (/^\d+$/.test(variable) ? Number(variable) : undefined),
  };
}

const DAY = 86_400_000;

/** At most a day by default: several together must not exceed what Node's timers can wait, some 24 days. */
export function milliseconds(otherwise: number, max = DAY): OptionRule<number> {
  return wholeNumber(otherwise, { max, unit: 'milliseconds' });
}

/** Like {@link milliseconds}; `null` means forever. */
export function millisecondsOrNull(otherwise: number | null, max: number): OptionRule<number | null> {
  const accepts = (value: unknown): boolean => value === null || isWhole(1, max)(value);
  const takes = `a whole number of milliseconds from 1 to ${max}, or null`;
  return { ...taking(takes, accepts), unit: 'milliseconds', default: otherwise };
}

export function listOfMilliseconds(otherwise: number[], max: number): OptionRule<number[]> {
  const takes = `a list of one or more whole numbers of milliseconds from 1 to ${max}`;
  const accepts = (value: unknown): boolean => Array.isArray(value) && value.length > 0 && value.every(isWhole(1, max));
  return { ...taking(takes, accepts), unit: 'milliseconds', default: otherwise };
}

export function text(otherwise?: string, pattern = /^/, takes = 'text'): OptionRule<string> {
  const accepts = (value: unknown): boolean => typeof value === 'string' && pattern.test(value);
  return { ...taking(takes, accepts), default: otherwise, fromText: (value) => value };
}

export function flag(otherwise: boolean): OptionRule<boolean> {
  return {
    ...taking('true or false', (value) => typeof value === 'boolean'),
    default: otherwise,
    fromText: (variable) => (/^(true|false|1|0)$/.test(variable) ? /^(true|1)$/.test(variable) : undefined),
  };
}

export function oneOf<const T extends string>(values: readonly T[], otherwise?: T): OptionRule<T> {
  const isAllowed = (value: unknown): value is T => values.includes(value as T);
  return {
    ...taking(values.map((value) => `"${value}"`).join(' or '), isAllowed),
    default: otherwise,
    fromText: (variable) => (isAllowed(variable) ? variable : undefined),
  };
}

export function listOf<T>(items: string): OptionRule<T[]> {
  return { ...taking(`a list of ${items}`, Array.isArray), default: [] };
}

export function callable<T>(): OptionRule<T> {
  return { problem: taking('a function', (value) => typeof value === 'function').problem };
}

function taking(takes: string, accepts: (value: unknown) => boolean): Pick<OptionRule<never>, 'takes' | 'problem'> {
  return { takes, problem: (value) => (accepts(value) ? undefined : `must be ${takes} (given: ${kindOf(value)}).`) };
}

function isWhole(min: number, max: number) {
  return (value: unknown): boolean => Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}

/** Shows numbers and null, but only the type of anything else: it may be a misplaced secret. */
function kindOf(value: unknown): string {
  if (typeof value === 'number' || value === null) return String(value);
  return Array.isArray(value) ? 'array' : typeof value;
}
