import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { messageOf } from '../../scripts/lib/errors.mjs';
import { CommandError } from '../../scripts/lib/lifecycle.mjs';
import { kinds, kindsHere } from './failover/kinds.mjs';

export const usage = `npm run test:chaos [-- …]
  without any of the following, all phases with their defaults run; with some, only the phases they belong to
  load:   --minutes 5  --shops 3  --buyers 24  --drop-all-postbacks
  model:  --model-runs 20000
  crash:  --crash
  fuzz:   --fuzz-minutes 5
  failover: --failover ${[...Object.keys(kinds), 'all'].join('|')}  --rounds 2  --load-seconds 8  --lag-seconds 20
  all:    --seed 7

  TEST_DATABASE=mariadb   everything on MariaDB: docs/mariadb.md`;

/** @typedef {{ whole?: boolean; least: number; most: number }} Limits of a number */
/** @typedef {ReturnType<typeof readArguments>} ChaosOptions */

/**
 * A random one, and what else there may be.
 * @type {[number, Limits]}
 */
export const SEED = [randomInt(1_000_000), { whole: true, least: 0, most: 2 ** 31 - 1_000 }];

/** What may be given, with the phase that it chooses; `seed` chooses none. */
const OPTIONS = /** @type {const} */ ({
  seed: { type: 'string' },
  crash: { type: 'boolean', phase: 'crash' },
  'model-runs': { type: 'string', phase: 'model' },
  'fuzz-minutes': { type: 'string', phase: 'fuzz' },
  failover: { type: 'string', phase: 'failover' },
  rounds: { type: 'string', phase: 'failover' },
  'load-seconds': { type: 'string', phase: 'failover' },
  'lag-seconds': { type: 'string', phase: 'failover' },
  minutes: { type: 'string', phase: 'load' },
  shops: { type: 'string', phase: 'load' },
  buyers: { type: 'string', phase: 'load' },
  'drop-all-postbacks': { type: 'boolean', phase: 'load' },
});

/**
 * What the command was asked for.
 * @param {readonly string[]} args
 */
export function readArguments(args) {
  const values = parseOptions(args, OPTIONS, usage);
  const every = phasesOf(Object.keys(OPTIONS));
  const some = phasesOf(Object.keys(values));
  /** @type {(name: Exclude<keyof typeof OPTIONS, 'crash' | 'drop-all-postbacks'>, fallback: number, limits: Limits) => number} */
  const number = (name, fallback, limits) => readNumber(name, values[name] ?? String(fallback), { usage, ...limits });
  return {
    phases: some.length > 0 ? some : every,
    seed: number('seed', ...SEED),
    minutes: number('minutes', 5, { least: 0.05, most: 24 * 60 }),
    shops: number('shops', 3, { whole: true, least: 2, most: 20 }),
    buyers: number('buyers', 24, { whole: true, least: 1, most: 1000 }),
    dropAll: values['drop-all-postbacks'] ?? false,
    modelRuns: number('model-runs', 20_000, { whole: true, least: 1, most: 10_000_000 }),
    fuzzMinutes: number('fuzz-minutes', 5, { least: 0.2, most: 24 * 60 }),
    failover: readKinds(values.failover ?? 'all'),
    rounds: number('rounds', 2, { whole: true, least: 1, most: 1000 }),
    loadSeconds: number('load-seconds', 8, { least: 1, most: 600 }),
    lagSeconds: number('lag-seconds', 20, { least: 1, most: 600 }),
  };
}

/**
 * The phases that options choose, in their order.
 * @param {string[]} names
 * @returns {string[]}
 */
function phasesOf(names) {
  const chosen = Object.entries(OPTIONS).filter(([name]) => names.includes(name));
  return [...new Set(chosen.flatMap(([, option]) => ('phase' in option ? option.phase : [])))];
}

/** @param {string} name */
function readKinds(name) {
  const here = kindsHere();
  const chosen = here.filter((kind) => name === 'all' || name === kind);
  if (chosen.length > 0) return chosen;
  throw new CommandError(`--failover must be ${here.join(', ')} or all, not "${name}".\n${usage}`);
}

/**
 * The options that were given. Refuses others with the usage.
 * @template {NonNullable<import('node:util').ParseArgsConfig['options']>} Options
 * @param {readonly string[]} args
 * @param {Options} options
 * @param {string} usage
 */
export function parseOptions(args, options, usage) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new CommandError(`${messageOf(error)}\n${usage}`);
  }
}

/**
 * @param {string} name
 * @param {string} text
 * @param {Limits & { usage: string }} limits
 */
export function readNumber(name, text, { whole = false, least, most, usage }) {
  const value = Number(text);
  if (text.trim() !== '' && value >= least && value <= most && (!whole || Number.isInteger(value))) return value;
  throw new CommandError(
    `--${name} must be a ${whole ? 'whole ' : ''}number from ${least} to ${most}, not "${text}".\n${usage}`,
  );
}
