import { isRecord } from '../common/objects.js';
import { EXTRA_RULES } from './option-rules.js';
import type { OptionContext, OptionGroup, OptionRule, OptionRules } from './option-rule.js';

export interface OptionPlace extends OptionContext {
  /** For example `shops.main`; empty for the module's own options. */
  readonly path: string;
  readonly problems: string[];
}

/** Puts the default in place of each option that is missing or invalid. */
export function readOptions<T>(
  rules: OptionRules<T>,
  options: Readonly<Record<string, unknown>>,
  place: OptionPlace,
): Required<T> {
  const pathOf = (name: string): string => (place.path ? `${place.path}.${name}` : name);
  for (const [name, value] of Object.entries(copyOf(options, place))) {
    const isKnown = Object.hasOwn(rules, name) || value === undefined;
    if (isKnown) continue;
    const isMisplaced = place.path === '' && Object.hasOwn(EXTRA_RULES, name);
    const problem = isMisplaced ? 'belongs beside the factory, not in what it returns.' : 'unknown option.';
    place.problems.push(`${pathOf(name)}: ${problem}`);
  }
  const read = Object.entries<OptionRule<unknown> | OptionGroup<unknown>>(rules).map(([name, rule]) => {
    const optionPlace = { ...place, path: pathOf(name) };
    const value = valueOf(options, name, optionPlace);
    return [name, 'rules' in rule ? readGroup(rule, value, optionPlace) : readOption(rule, value, optionPlace)];
  });
  return Object.fromEntries(read) as Required<T>;
}

type ProblemContext = Pick<OptionPlace, 'path' | 'problems'>;

/** Reads a property of the host's object. A getter may throw, and the message of its error may hold a secret. */
export function valueOf(
  object: Readonly<Record<PropertyKey, unknown>>,
  name: PropertyKey,
  { path, problems }: ProblemContext,
): unknown {
  try {
    return object[name];
  } catch {
    const problem = `${path}: reading it throws an error. Pass a plain value instead of a getter or a Proxy.`;
    if (!problems.includes(problem)) problems.push(problem);
    return undefined;
  }
}

/** The own properties of an object, as {@link valueOf} reads them. */
export function copyOf(
  object: Readonly<Record<string, unknown>>,
  { path, problems }: ProblemContext,
): Record<string, unknown> {
  let names: string[] = [];
  try {
    names = Object.keys(object);
  } catch {
    problems.push(`${path || 'The options'}: listing them throws an error. Pass an object instead of a Proxy.`);
  }
  const placeOf = (name: string): ProblemContext => ({ path: path ? `${path}.${name}` : name, problems });
  return Object.fromEntries(names.map((name) => [name, valueOf(object, name, placeOf(name))]));
}

function readGroup({ rules, mayBe = [] }: OptionGroup<unknown>, value: unknown, place: OptionPlace): unknown {
  if (value === undefined || isRecord(value)) return readOptions(rules, value ?? {}, place);
  if (value === false && mayBe.includes(value)) return false;
  if (value !== true || !mayBe.includes(value)) {
    place.problems.push(`${place.path}: must be ${['an object of options', ...mayBe].join(' or ')}.`);
  }
  return readOptions(rules, {}, place);
}

function readOption(rule: OptionRule<unknown>, value: unknown, place: OptionPlace): unknown {
  if (value === undefined && !rule.required) return rule.default;
  let problem: string | undefined;
  try {
    problem = rule.problem(value, place);
  } catch {
    problem = 'reading it throws an error. Pass a plain value instead of a getter or a Proxy.';
  }
  if (problem === undefined) return value;
  place.problems.push(`${place.path}: ${problem}`);
  return rule.default;
}
