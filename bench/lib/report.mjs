import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { dataFolder, root } from '../../scripts/lib/project.mjs';
import { addToHistory, currentCommit, figureBefore, readHistory, runOf } from './history.mjs';
import { spread } from './spread.mjs';

export { spread };

/** @import { Figure } from './statistics.mjs' */
/** @typedef {Awaited<ReturnType<typeof import('./database.mjs').startDatabase>>} Database */
/** @typedef {Awaited<ReturnType<typeof import('./load.mjs').startLoad>>} Load */
/** @typedef {{ quick: boolean; long: boolean; database: Database; load: Load; log(line: string): void }} Context of a bench */
/** @typedef {{ caption?: string; columns: string[]; rows: (string | number)[][] }} Table */
/** @typedef {{ what: string; wanted: string; measured: string; met: boolean }} Target */
/** @typedef {{ about: string; targets?: Target[]; tables?: Table[]; charts?: Record<string, string>; notes?: string }} Result */
/** @typedef {{ title: string; order: number; run(context: Context): Promise<Result> }} Bench */
/** @typedef {{ at: string; machine: string; node: string; postgres: string; quick: boolean }} Taken when and where */
/** @typedef {Omit<Result, 'charts'> & { title: string; order: number; taken: Taken; charts: string[] }} Kept */

/**
 * Quick figures only show that everything works: they do not take the place of those that were taken with care.
 * @param {boolean} quick
 */
const folderOf = (quick) => (quick ? path.join(dataFolder, 'bench') : path.join(root, 'bench/results'));

/**
 * A figure that there is only once.
 * @param {number} value
 * @returns {Figure}
 */
export const exactly = (value) => ({ median: value, min: value, max: value });

/**
 * A figure that is claimed: `wanted` is a least (`atLeast`) or a most (`atMost`) of the median.
 * @param {string} what
 * @param {Figure} measured
 * @param {{ atLeast: number; atMost?: undefined } | { atLeast?: undefined; atMost: number }} wanted
 * @returns {Target}
 */
export function target(what, measured, { atLeast, atMost }) {
  const met = atLeast === undefined ? measured.median <= atMost : measured.median >= atLeast;
  const wanted = atLeast === undefined ? `at most ${atMost}` : `at least ${atLeast}`;
  return { what, wanted, measured: spread(measured), met };
}

/**
 * Keeps one bench's result beside those of the others, and writes the report of all. Gives the report's path.
 * @param {string} name
 * @param {Result & { title: string; order: number }} result
 * @param {{ quick: boolean; database: Pick<Database, 'version'> }} how
 */
export function keep(name, result, { quick, database }) {
  const folder = folderOf(quick);
  fs.mkdirSync(folder, { recursive: true });
  const { charts = {}, ...rest } = result;
  for (const [file, svg] of Object.entries(charts)) fs.writeFileSync(path.join(folder, `${file}.svg`), svg);
  const machine = `${os.cpus().length} × ${os.cpus()[0]?.model.trim()}, ${os.type()} ${os.release()}`;
  const taken = { at: new Date().toISOString(), machine, node: process.version, postgres: database.version, quick };
  const kept = { taken, charts: Object.keys(charts), ...rest };
  fs.writeFileSync(path.join(folder, `${name}.json`), `${JSON.stringify(kept, undefined, 2)}\n`);
  if (!quick) addToHistory(folder, [runOf(name, kept, currentCommit())]);
  const report = path.join(folder, 'latest.md');
  fs.writeFileSync(report, document(folder));
  return report;
}

/** @param {string} folder */
function document(folder) {
  const history = readHistory(folder);
  const all = fs
    .readdirSync(folder)
    .filter((file) => file.endsWith('.json') && file !== 'history.json')
    .map((file) => ({ name: file.slice(0, -5), ...JSON.parse(fs.readFileSync(path.join(folder, file), 'utf8')) }))
    .sort((a, b) => a.order - b.order);
  return [
    '# Measured',
    'Written by `npm run bench` (bench/README.md says how). Each figure is the median of all rounds, with the least and the largest. Ratios are taken round by round in one run: they hold better than absolute figures. "Before" is the figure of the last run before; `npm run bench -- --history` has all.',
    ...all.map((result) => section(result, (what) => figureBefore(history, result.name, result.taken.at, what))),
    '',
  ].join('\n\n');
}

/**
 * @param {Kept} result
 * @param {(what: string) => string | undefined} before
 */
function section({ title, taken, about, targets = [], tables = [], charts, notes }, before) {
  const { at, machine, node, postgres, quick } = taken;
  return [
    `## ${title}`,
    about,
    ...(targets.length > 0
      ? [
          table(
            ['claim', 'wanted', 'measured', 'met', 'before'],
            targets.map((t) => [t.what, t.wanted, t.measured, t.met ? 'yes' : '**no**', before(t.what) ?? '–']),
          ),
        ]
      : []),
    ...tables.flatMap(({ caption, columns, rows }) => [...(caption ? [caption] : []), table(columns, rows)]),
    ...charts.map((file) => `![${title}](${file}.svg)`),
    ...(notes ? [notes] : []),
    `${quick ? 'A quick run' : 'Taken'} ${at} on ${machine}; Node ${node}, PostgreSQL ${postgres}.`,
  ].join('\n\n');
}

/**
 * @param {string[]} columns
 * @param {(string | number)[][]} rows
 */
function table(columns, rows) {
  /** @param {(string | number)[]} cells */
  const line = (cells) => `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(columns), line(columns.map(() => '---')), ...rows.map(line)].join('\n');
}
