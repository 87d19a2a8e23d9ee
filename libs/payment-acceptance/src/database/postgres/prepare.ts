import { Parameter, Statement, type Value } from '../statement.js';
import { postgres } from './dialect.js';

/** The parameter of every statement that needs the time: how far our clock is ahead of the database's. */
const OFFSET = 'offsetMs';
const OFFSET_MS = parameter(OFFSET);
const NOW = postgres.now(OFFSET_MS);

/** A statement with named parameters that is built once, and whose plan connections keep. */
export class PreparedStatement<Name extends string> {
  readonly text: string;
  private readonly names: readonly (Name | typeof OFFSET)[];

  constructor(
    names: readonly Name[],
    private readonly statement: Statement,
  ) {
    const { parts, values } = statement;
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
    return this.names.map((name) => valueOf(name, parameters, offsetMs));
  }

  /** The statement with its values, for a connection that keeps no plans. */
  with(parameters: Readonly<Record<Name, Value>>, offsetMs: number): Statement {
    const { parts, values } = this.statement;
    return new Statement(
      parts,
      values.map((value) => (value instanceof Parameter ? valueOf(value.name as Name, parameters, offsetMs) : value)),
    );
  }
}

function valueOf<Name extends string>(
  name: Name | typeof OFFSET,
  parameters: Readonly<Record<Name, Value>>,
  offsetMs: number,
): Value {
  return name === OFFSET ? offsetMs : parameters[name];
}

/**
 * @param build builds the statement from its parameters, which may occur several times; each needs a known type. `now`
 *   is the current time, and `offsetMs` how far our clock is ahead of the database's
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
