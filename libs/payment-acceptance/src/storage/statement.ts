/** What a parameter can be. A list is one parameter too: see `Dialect.oneOf`. */
export type Value = string | number | boolean | null | readonly string[];

/** SQL in parts, with a parameter between each and the next. Made by {@link sql}; each database numbers parameters its way. */
export class Statement {
  constructor(
    private readonly parts: readonly string[],
    readonly values: readonly Value[],
  ) {}

  /** @param parameter how the database writes the parameter at a place, from 1 on */
  text(parameter: (place: number) => string): string {
    return this.parts.reduce((text, part, place) => text + parameter(place) + part);
  }

  /** This one, and another right behind it. */
  followedBy(next: Statement): Statement {
    const [first = '', ...others] = next.parts;
    const last = this.parts.at(-1) ?? '';
    return new Statement([...this.parts.slice(0, -1), last + first, ...others], [...this.values, ...next.values]);
  }
}

/**
 * A column, or another expression, that stands in the source: only a text that the compiler knows to be in lower case is
 * taken for one, so none that came from elsewhere.
 */
export type Expression = Statement | Lowercase<string>;

/** A statement, or a part of one. Another one is put in its place; any other value becomes a parameter. */
export function sql(parts: TemplateStringsArray, ...given: readonly (Statement | Value)[]): Statement {
  return given.reduce<Statement>(
    (whole, next, index) =>
      whole
        .followedBy(next instanceof Statement ? next : new Statement(['', ''], [next]))
        .followedBy(constant(parts[index + 1] ?? '')),
    constant(parts[0] ?? ''),
  );
}

/** A column or another expression, to be put into a statement. */
export function put(given: Expression): Statement {
  return given instanceof Statement ? given : constant(given);
}

/** SQL that is the same in every run, never a caller's. */
export function constant(text: string): Statement {
  return new Statement([text], []);
}

/** Several, with a constant between each and the next. */
export function join(statements: readonly Statement[], separator: string): Statement {
  const between = constant(separator);
  const [first = constant(''), ...others] = statements;
  return others.reduce((whole, next) => whole.followedBy(between).followedBy(next), first);
}

/** The number of rows that meet a condition. */
export function countWhere(condition: Statement): Statement {
  return sql`count(CASE WHEN ${condition} THEN 1 END)`;
}
