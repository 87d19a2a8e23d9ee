/** The value of a parameter. A list is a single parameter, too: see `Dialect.oneOf`. */
export type Value = string | number | boolean | null | readonly string[];

/** A named parameter, whose value is given at each execution. */
export class Parameter {
  constructor(readonly name: string) {}
}

/** SQL in parts, with a parameter between any two, which each database writes its own way. Built with {@link sql}. */
export class Statement {
  constructor(
    readonly parts: readonly string[],
    readonly values: readonly (Value | Parameter)[],
  ) {}

  /** @param parameter writes the parameter at a position, from 1 on */
  text(parameter: (place: number) => string): string {
    return this.parts.reduce((text, part, place) => text + parameter(place) + part);
  }
}

/** A column or another expression. Only lower case that the compiler knows is accepted, so no text from outside. */
export type Expression = Statement | Lowercase<string>;

/** Builds a statement or a part of one. Statements are inserted in place; any other value becomes a parameter. */
export function sql(parts: TemplateStringsArray, ...substitutions: readonly (Statement | Value)[]): Statement {
  const [first = '', ...rest] = parts;
  const texts = [first];
  const values: (Value | Parameter)[] = [];
  const append = (text = ''): void => void texts.push((texts.pop() ?? '') + text);
  substitutions.forEach((next, index) => {
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

export function toSql(expression: Expression): Statement {
  return expression instanceof Statement ? expression : rawSql(expression);
}

/** Constant SQL from the source code, never from a caller. */
export function rawSql(text: string): Statement {
  return new Statement([text], []);
}

export function join(statements: readonly Statement[], separator: string): Statement {
  const texts: string[] = [];
  const values: (Value | Parameter)[] = [];
  for (const { parts, values: statementValues } of statements) {
    const [start = '', ...others] = parts;
    // In place, since there may be thousands.
    if (texts.length === 0) texts.push(start);
    else texts.push((texts.pop() ?? '') + separator + start);
    for (const other of others) texts.push(other);
    for (const value of statementValues) values.push(value);
  }
  return new Statement(texts.length === 0 ? [''] : texts, values);
}

export function countWhere(condition: Statement): Statement {
  return sql`count(CASE WHEN ${condition} THEN 1 END)`;
}

/** Where a count stops: more would need the same attention, and counting millions would slow down payments. */
export const COUNT_LIMIT = 10_000;

/** A count of rows, as a subquery, that stops at {@link COUNT_LIMIT}. @param rows what follows FROM */
export function limitedCount(rows: Statement): Statement {
  return sql`(SELECT count(*) FROM (SELECT 1 FROM ${rows} LIMIT ${rawSql(String(COUNT_LIMIT))}) counted)`;
}
