import { Parameter, Statement, type Value } from '../statement.js';

/** A statement that is built once and whose plan connections keep, with named parameters. */
export class PreparedStatement<Name extends string> {
  readonly text: string;
  readonly timeoutMs: number | undefined;

  constructor(
    private readonly names: readonly Name[],
    private readonly statement: Statement,
  ) {
    const { parts, values, timeoutMs } = statement;
    this.timeoutMs = timeoutMs;
    const places = new Map<string, number>(names.map((name, index) => [name, index + 1]));
    const place = (value: unknown): string => {
      const position = value instanceof Parameter ? places.get(value.name) : undefined;
      if (position === undefined) throw new Error('A prepared statement holds a value of its own.');
      return `$${position}`;
    };
    this.text = parts.reduce((text, part, index) => text + place(values[index - 1]) + part);
  }

  values(parameters: Readonly<Record<Name, Value>>): Value[] {
    return this.names.map((name) => parameters[name]);
  }

  /** The statement with its values, for a connection that keeps no plans. */
  with(parameters: Readonly<Record<Name, Value>>): Statement {
    const { parts, values, timeoutMs } = this.statement;
    const valueOf = (value: Value | Parameter): Value =>
      value instanceof Parameter ? parameters[value.name as Name] : value;
    return new Statement(parts, values.map(valueOf), timeoutMs);
  }
}

/** @param build builds the statement from its parameters, which may occur several times; each needs a known type */
export function prepare<const Name extends string>(
  names: readonly Name[],
  build: (parameters: Readonly<Record<Name, Statement>>) => Statement,
): PreparedStatement<Name> {
  const parameters = Object.fromEntries(names.map((name) => [name, new Statement(['', ''], [new Parameter(name)])]));
  return new PreparedStatement(names, build(parameters as Record<Name, Statement>));
}
