/** What a parameter can be. A list is one parameter too: see `Dialect.oneOf`. */
export type Value = string | number | boolean | null | readonly string[];

/** A parameter whose value each run of a statement gives by its name. */
export class Parameter {
  constructor(readonly name: string) {}
}

/** SQL in parts, with a parameter between each and the next. Made by {@link sql}; each database numbers parameters its way. */
export class Statement {
  constructor(
    readonly parts: readonly string[],
    readonly values: readonly (Value | Parameter)[],
    /** How long it may take, in milliseconds, where that is longer than others may. */
    readonly limitMs?: number,
  ) {}

  /** The same for one that reads or removes much at once, and that nobody's payment waits for. */
  withTime(limitMs: number): Statement {
    return new Statement(this.parts, this.values, limitMs);
  }

  /** @param parameter how the database writes the parameter at a place, from 1 on */
  text(parameter: (place: number) => string): string {
    return this.parts.reduce((text, part, place) => text + parameter(place) + part);
  }
}

/**
 * A column, or another expression, that stands in the source: only a text that the compiler knows to be in lower case is
 * taken for one, so none that came from elsewhere.
 */
export type Expression = Statement | Lowercase<string>;

/** A statement, or a part of one. Another one is put in its place; any other value becomes a parameter. */
export function sql(parts: TemplateStringsArray, ...given: readonly (Statement | Value)[]): Statement {
  const [first = '', ...rest] = parts;
  const texts = [first];
  const values: (Value | Parameter)[] = [];
  const append = (text = ''): void => void texts.push((texts.pop() ?? '') + text);
  given.forEach((next, index) => {
    if (next instanceof Statement) {
      const [start, ...others] = next.parts;
      append(start);
      for (const other of others) texts.push(other);
      values.push(...next.values);
    } else {
      texts.push('');
      values.push(next);
    }
    append(rest[index]);
  });
  return new Statement(texts, values);
}

/** A column or another expression, to be put into a statement. */
export function toSql(given: Expression): Statement {
  return given instanceof Statement ? given : rawSql(given);
}

/** SQL that is the same in every run, never a caller's. */
export function rawSql(text: string): Statement {
  return new Statement([text], []);
}

/** Several, with a constant between each and the next. */
export function join(statements: readonly Statement[], separator: string): Statement {
  const [first = rawSql(''), ...others] = statements;
  return others.reduce((whole, next) => sql`${whole}${rawSql(separator)}${next}`, first);
}

/** The number of rows that meet a condition. */
export function countWhere(condition: Statement): Statement {
  return sql`count(CASE WHEN ${condition} THEN 1 END)`;
}
