import { docstring } from './docstring.mjs';

/** @import { Declaration, Property } from './docstring.mjs' */

/** @typedef {{ takes?: string; default?: unknown; unit?: string; rules?: Rules }} Rule of an option, as the library has it */
/** @typedef {{ readonly [option: string]: Rule }} Rules */

/**
 * The rule of each option, by its property in the source. `rules`, by the name of an interface, are those of the options that
 * lead to all others.
 * @param {Declaration[]} types
 * @param {Readonly<Record<string, Rules>>} rules
 * @throws Error naming each option without a docstring, or whose docstring states another default than its rule
 */
export function optionRules(types, rules) {
  /** @type {Map<Property, Rule>} */
  const found = new Map();
  /** @type {(name: string | undefined, group: Rules) => void} */
  const add = (name, group) => {
    const declaration = types.find((each) => each.name.text === name);
    if (!declaration) throw new Error(`The options of ${name} are nowhere.`);
    for (const member of /** @type {Iterable<Property>} */ (declaration.members)) {
      const rule = group[member.name.getText()];
      if (!rule) throw new Error(`${name}.${member.name.getText()}: has no rule.`);
      found.set(member, rule);
      const inner = types.find((each) => new RegExp(`\\b${each.name.text}\\b`).test(member.type.getText()));
      if (rule.rules) add(inner?.name.text, rule.rules);
    }
  };
  for (const [name, group] of Object.entries(rules)) add(name, group);
  const problems = [...found].flatMap(([member, rule]) => problemOf(member, rule) ?? []);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return found;
}

/**
 * What a group is about, its interface says.
 * @param {Property} member
 * @param {Rule} rule
 */
function problemOf(member, rule) {
  if (rule.rules) return undefined;
  const where = `${/** @type {Declaration} */ (member.parent).name.text}.${member.name.getText()}`;
  const text = docstring(member);
  if (text === '') return `${where}: has no docstring.`;
  const expected = statedDefault(rule);
  if (expected === undefined || saysDefault(text, expected)) return undefined;
  return `${where}: its docstring does not say "Default ${expected}", as its rule does.`;
}

/**
 * And not one that only begins with it, as 30 does with 3.
 * @param {string} text
 * @param {string} expected
 */
function saysDefault(text, expected) {
  const [, after] = text.replaceAll(/\s+/g, ' ').split(`Default ${expected}`);
  return after !== undefined && !/^\w/.test(after);
}

/** @type {[name: string, length: number][]} */
const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

/**
 * As a docstring says it; `undefined` where there is none, or words have to say it.
 * @param {Rule} rule
 */
function statedDefault({ default: value, unit }) {
  if (Array.isArray(value) && value.length > 0) return value.map((each) => stated(each, unit)).join(', ');
  if (value === undefined || value === '' || (typeof value === 'object' && value !== null)) return undefined;
  return stated(value, unit);
}

/**
 * @param {unknown} value
 * @param {string | undefined} unit
 */
function stated(value, unit) {
  if (typeof value !== 'number') return `\`${value}\``;
  if (unit === 'bytes' && value % 1024 ** 2 === 0) return `${value / 1024 ** 2} MiB`;
  const [name, length] = (unit === 'milliseconds' && UNITS.find(([, each]) => value % each === 0)) || [];
  if (!name || !length) return String(value);
  return value === length ? `1 ${name}` : `${value / length} ${name}s`;
}
