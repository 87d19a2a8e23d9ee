import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { CommandError } from '../lifecycle.mjs';
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

/** A random one, and what else there may be. */
export const SEED = [randomInt(1_000_000), { whole: true, least: 0, most: 2 ** 31 - 1_000 }];

/** The phase that each option chooses; `seed` chooses none. */
const phaseOf = {
  crash: 'crash',
  'model-runs': 'model',
  'fuzz-minutes': 'fuzz',
  failover: 'failover',
  rounds: 'failover',
  'load-seconds': 'failover',
  'lag-seconds': 'failover',
  minutes: 'load',
  shops: 'load',
  buyers: 'load',
  'drop-all-postbacks': 'load',
};

/** What the command was asked for: `{ phases, seed, minutes, shops, buyers, dropAll, modelRuns, fuzzMinutes, failover, rounds, loadSeconds,
 * lagSeconds }`. */
export function readArguments(args) {
  const flags = ['crash', 'drop-all-postbacks'];
  const names = ['seed', ...Object.keys(phaseOf)];
  const values = parseOptions(args, names, { flags, usage });
  const every = [...new Set(Object.values(phaseOf))];
  const chosen = new Set(Object.keys(values).map((name) => phaseOf[name]));
  const some = every.filter((phase) => chosen.has(phase));
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

function readKinds(name) {
  const here = kindsHere();
  if (name === 'all') return here;
  if (here.includes(name)) return [name];
  throw new CommandError(`--failover must be ${here.join(', ')} or all, not "${name}".\n${usage}`);
}

/** The options that were given, as text; `flags` take none. Refuses others with the usage. */
export function parseOptions(args, names, { flags = [], usage }) {
  const options = Object.fromEntries(
    names.map((name) => [name, { type: flags.includes(name) ? 'boolean' : 'string' }]),
  );
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new CommandError(`${error.message}\n${usage}`);
  }
}

export function readNumber(name, text, { whole = false, least, most, usage }) {
  const value = Number(text);
  if (text.trim() !== '' && value >= least && value <= most && (!whole || Number.isInteger(value))) return value;
  throw new CommandError(
    `--${name} must be a ${whole ? 'whole ' : ''}number from ${least} to ${most}, not "${text}".\n${usage}`,
  );
}
