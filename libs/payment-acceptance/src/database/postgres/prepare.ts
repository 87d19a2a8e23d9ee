import { Parameter, Statement, type Value } from '../statement.js';
import { postgres } from './dialect.js';

/** The parameter of every statement that needs the time: how far our clock is ahead of the database's. */
const OFFSET = 'offsetMs';
const OFFSET_MS = parameter(OFFSET);
const NOW = postgres.now(OFFSET_MS);

/** A statement with named parameters that is built once, and whose plan connections keep. */
export class PreparedStatement<Name extends string> {
  readonly text: string;
  readonly timeoutMs: number | undefined;
  private readonly names: readonly (Name | typeof OFFSET)[];

  constructor(
    names: readonly Name[],
    private readonly statement: Statement,
  ) {
    const { parts, values, timeoutMs } = statement;
    this.timeoutMs = timeoutMs;
    const occurs = (name: string): boolean => values.some((value) => value instanceof Parameter && value.name === name);
    this.names = occurs(OFFSET) ? [OFFSET, ...names] : names;
    const places = new Map<string, number>(this.names.map((name, index) => [name, index + 1]));
    const place = (value: unknown): string => {
      const position = value instanceof Parameter ? places.get(value.name) : undefined;
      if (position === undefined) throw new Error('A prepared statement holds a value of its own.');
      return `$${position}`;
    };
    this.text = parts.reduce((text, part, index) => text + place(values[index - 1]) + part);
  }

  values(parameters: Readonly<Record<Name, Value>>, offsetMs: number): Value[] {
    const all = { ...parameters, [OFFSET]: offsetMs };
    return this.names.map((name) => all[name]);
  }

  /** The statement with its values, for a connection that keeps no plans. */
  with(parameters: Readonly<Record<Name, Value>>, offsetMs: number): Statement {
    const { parts, values, timeoutMs } = this.statement;
    const all = { ...parameters, [OFFSET]: offsetMs };
    const valueOf = (value: Value | Parameter): Value => (value instanceof Parameter ? all[value.name as Name] : value);
    return new Statement(parts, values.map(valueOf), timeoutMs);
  }
}

/**
 * @param build builds the statement from its parameters, which may occur several times; each needs a known type. `now` is the
 *   current time, and `offsetMs` how far our clock is ahead of the database's
 */
export function prepare<const Name extends string>(
  names: readonly Name[],
  build: (parameters: Readonly<Record<Name, Statement>>, now: Statement, offsetMs: Statement) => Statement,
): PreparedStatement<Name> {
  const parameters = Object.fromEntries(names.map((name) => [name, parameter(name)])) as Record<Name, Statement>;
  return new PreparedStatement(names, build(parameters, NOW, OFFSET_MS));
}

function parameter(name: string): Statement {
  return new Statement(['', ''], [new Parameter(name)]);
}
