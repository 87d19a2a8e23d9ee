import { docstring } from './docstring.mjs';

/**
 * The rule of each option, by its property in the source. `rules`, by the name of an interface, are those of the options that
 * lead to all others.
 * @throws Error naming each option without a docstring, or whose docstring states another default than its rule
 */
export function optionRules(types, rules) {
  const found = new Map();
  const add = (name, group) => {
    for (const member of types.find((each) => each.name.text === name).members) {
      const rule = group[member.name.getText()];
      found.set(member, rule);
      const inner = types.find((each) => new RegExp(`\\b${each.name.text}\\b`).test(member.type.getText()));
      if (rule.rules) add(inner.name.text, rule.rules);
    }
  };
  for (const [name, group] of Object.entries(rules)) add(name, group);
  const problems = [...found].flatMap(([member, rule]) => problemOf(member, rule) ?? []);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return found;
}

/** What a group is about, its interface says. */
function problemOf(member, rule) {
  if (rule.rules) return undefined;
  const where = `${member.parent.name.text}.${member.name.getText()}`;
  const text = docstring(member);
  if (text === '') return `${where}: has no docstring.`;
  const expected = statedDefault(rule);
  if (expected === undefined || saysDefault(text, expected)) return undefined;
  return `${where}: its docstring does not say "Default ${expected}", as its rule does.`;
}

/** And not one that only begins with it, as 30 does with 3. */
function saysDefault(text, expected) {
  const [, after] = text.replaceAll(/\s+/g, ' ').split(`Default ${expected}`);
  return after !== undefined && !/^\w/.test(after);
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

/** As a docstring says it; `undefined` where there is none, or words have to say it. */
function statedDefault({ default: value, unit }) {
  if (value === undefined || value === '' || (typeof value === 'object' && value !== null && !(value.length > 0)))
    return undefined;
  if (Array.isArray(value)) return value.map((each) => stated(each, unit)).join(', ');
  return stated(value, unit);
}

function stated(value, unit) {
  if (typeof value !== 'number') return `\`${value}\``;
  if (unit === 'bytes' && value % 1024 ** 2 === 0) return `${value / 1024 ** 2} MiB`;
  const [name, length] = (unit === 'milliseconds' && UNITS.find(([, each]) => value % each === 0)) || [];
  if (!name) return String(value);
  return value === length ? `1 ${name}` : `${value / length} ${name}s`;
}
