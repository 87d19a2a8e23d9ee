import { isRecord, type OptionContext, type OptionGroup, type OptionRule, type OptionRules } from './option-rule.js';

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
  for (const name of Object.keys(given)) {
    const known = Object.hasOwn(rules, name) || given[name] === undefined;
    if (!known) place.problems.push(`${pathOf(name)}: there is no such option.`);
  }
  const read = Object.entries<OptionRule<unknown> | OptionGroup<unknown>>(rules).map(([name, rule]) => {
    const at = { ...place, path: pathOf(name) };
    return [name, 'rules' in rule ? readGroup(rule, given[name], at) : readOption(rule, given[name], at)];
  });
  return Object.fromEntries(read) as Required<T>;
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
  const flaw = rule.flaw(given, place);
  if (flaw === undefined) return given;
  place.problems.push(`${place.path}: ${flaw}`);
  return rule.default;
}
