import { isRecord } from '../common/objects.js';
import type { OptionContext, OptionGroup, OptionRule, OptionRules } from './option-rule.js';

/** Where the options are, and where to report problems with them. */
export interface OptionPlace extends OptionContext {
  /** For example `shops.main`; empty for the module's own options. */
  readonly path: string;
  readonly problems: string[];
}

/** Reads the options, with the default in place of each that is missing or invalid. */
export function readOptions<T>(
  rules: OptionRules<T>,
  given: Readonly<Record<string, unknown>>,
  place: OptionPlace,
): Required<T> {
  const pathOf = (name: string): string => (place.path ? `${place.path}.${name}` : name);
  for (const [name, value] of Object.entries(copyOf(given, place))) {
    const known = Object.hasOwn(rules, name) || value === undefined;
    if (!known) place.problems.push(`${pathOf(name)}: unknown option.`);
  }
  const read = Object.entries<OptionRule<unknown> | OptionGroup<unknown>>(rules).map(([name, rule]) => {
    const at = { ...place, path: pathOf(name) };
    const value = valueOf(given, name, at);
    return [name, 'rules' in rule ? readGroup(rule, value, at) : readOption(rule, value, at)];
  });
  return Object.fromEntries(read) as Required<T>;
}

type Reported = Pick<OptionPlace, 'path' | 'problems'>;

/** A property of what the host has given. A getter of it may throw, and its message may hold a secret. */
export function valueOf(
  given: Readonly<Record<PropertyKey, unknown>>,
  name: PropertyKey,
  { path, problems }: Reported,
): unknown {
  try {
    return given[name];
  } catch {
    const problem = `${path}: reading it throws an error. Pass a plain value instead of a getter or a Proxy.`;
    if (!problems.includes(problem)) problems.push(problem);
    return undefined;
  }
}

/** Its own properties, as {@link valueOf} reads them. */
export function copyOf(
  given: Readonly<Record<string, unknown>>,
  { path, problems }: Reported,
): Record<string, unknown> {
  let names: string[] = [];
  try {
    names = Object.keys(given);
  } catch {
    problems.push(`${path || 'The options'}: listing them throws an error. Pass an object instead of a Proxy.`);
  }
  const at = (name: string): Reported => ({ path: path ? `${path}.${name}` : name, problems });
  return Object.fromEntries(names.map((name) => [name, valueOf(given, name, at(name))]));
}

function readGroup({ rules, mayBe = [] }: OptionGroup<unknown>, given: unknown, place: OptionPlace): unknown {
  if (given === undefined || isRecord(given)) return readOptions(rules, given ?? {}, place);
  if (given === false && mayBe.includes(given)) return false;
  if (given !== true || !mayBe.includes(given)) {
    place.problems.push(`${place.path}: must be ${['an object of options', ...mayBe].join(' or ')}.`);
  }
  return readOptions(rules, {}, place);
}

function readOption(rule: OptionRule<unknown>, given: unknown, place: OptionPlace): unknown {
  if (given === undefined && !rule.required) return rule.default;
  let problem: string | undefined;
  try {
    problem = rule.problem(given, place);
  } catch {
    problem = 'reading it throws an error. Pass a plain value instead of a getter or a Proxy.';
  }
  if (problem === undefined) return given;
  place.problems.push(`${place.path}: ${problem}`);
  return rule.default;
}
