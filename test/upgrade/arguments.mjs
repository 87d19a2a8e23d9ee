import { parseOptions, readNumber, SEED } from '../chaos/arguments.mjs';

export const usage = `npm run test:upgrade [-- …]
  --previous COMMIT   the release to come from and to go back to; else the one that etc/previous-release.json names
  --seconds 6         how long each of the five phases lasts at least
  --seed 7

  TEST_DATABASE=mariadb   on MariaDB: docs/mariadb.md`;

/** @typedef {import('../chaos/arguments.mjs').Limits} Limits */

const OPTIONS = /** @type {const} */ ({
  previous: { type: 'string' },
  seconds: { type: 'string' },
  seed: { type: 'string' },
});

/**
 * What the command was asked for.
 * @param {readonly string[]} args
 */
export function readArguments(args) {
  const values = parseOptions(args, OPTIONS, usage);
  /** @type {(name: 'seconds' | 'seed', fallback: number, limits: Limits) => number} */
  const number = (name, fallback, limits) => readNumber(name, values[name] ?? String(fallback), { usage, ...limits });
  return {
    previous: values.previous,
    seconds: number('seconds', 6, { least: 1, most: 3_600 }),
    seed: number('seed', ...SEED),
  };
}
