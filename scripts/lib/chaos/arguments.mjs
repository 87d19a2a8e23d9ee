import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { CommandError } from '../lifecycle.mjs';

const usage = 'npm run test:chaos -- --minutes 5 --seed 7 --shops 3 --buyers 24 --drop-all-postbacks (all optional)';

/** What the command was asked for: `{ minutes, seed, shops, buyers, dropAll }`. */
export function readArguments(args) {
  const values = parse(args);
  return {
    minutes: number('minutes', values.minutes ?? '1', { least: 0.05, most: 24 * 60 }),
    seed: number('seed', values.seed ?? String(randomInt(1_000_000)), { whole: true, least: 0, most: 2 ** 32 }),
    shops: number('shops', values.shops ?? '3', { whole: true, least: 2, most: 20 }),
    buyers: number('buyers', values.buyers ?? '24', { whole: true, least: 1, most: 1000 }),
    dropAll: values['drop-all-postbacks'] ?? false,
  };
}

function parse(args) {
  const text = { type: 'string' };
  const options = { minutes: text, seed: text, shops: text, buyers: text, 'drop-all-postbacks': { type: 'boolean' } };
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new CommandError(`${error.message}\n${usage}`);
  }
}

function number(name, text, { whole = false, least, most }) {
  const value = Number(text);
  if (text.trim() !== '' && value >= least && value <= most && (!whole || Number.isInteger(value))) return value;
  throw new CommandError(
    `--${name} must be a ${whole ? 'whole ' : ''}number from ${least} to ${most}, not "${text}".\n${usage}`,
  );
}
