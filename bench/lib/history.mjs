import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { root } from '../../scripts/lib/project.mjs';
import { spread } from './spread.mjs';

/*
 * How figures went over commits: bench/results/history.json, a line for each full run of a bench, the oldest first. What is
 * kept is what the report shows.
 */

/** @typedef {[median: number, min: number, max: number]} KeptFigure */
/** @typedef {{ bench: string; at: string; commit: string | null; machine: string; figures: Record<string, KeptFigure> }} Run of a bench */
/** @typedef {import('./report.mjs').Kept} Kept */

const FILE = 'history.json';
const SPREAD = /^([\d,.]+) \(([\d,.]+) – ([\d,.]+)\)$/;

/**
 * The runs.
 * @param {string} folder
 * @returns {Run[]}
 */
export function readHistory(folder) {
  const file = path.join(folder, FILE);
  return fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : [];
}

/**
 * Adds runs, of which one that is there already stays as it is.
 * @param {string} folder
 * @param {Run[]} runs
 */
export function addToHistory(folder, runs) {
  const all = readHistory(folder);
  const known = new Set(all.map(keyOf));
  all.push(...runs.filter((run) => !known.has(keyOf(run)) && Object.keys(run.figures).length > 0));
  all.sort((a, b) => (a.at < b.at ? -1 : 1));
  fs.writeFileSync(path.join(folder, FILE), `[\n${all.map((run) => JSON.stringify(run)).join(',\n')}\n]\n`);
}

/** @param {Run} run */
const keyOf = ({ bench, at }) => `${bench} ${at}`;

/**
 * What is kept of a result, as it is in bench/results.
 * @param {string} bench
 * @param {Kept} result
 * @param {string | null} commit
 * @returns {Run}
 */
export function runOf(bench, { taken, targets = [], tables = [] }, commit) {
  /** @type {Run['figures']} */
  const figures = {};
  /** @param {string} name @param {string | number} text */
  const keep = (name, text) => {
    const [, median, min, max] = (SPREAD.exec(String(text)) ?? []).map((number) => Number(number.replaceAll(',', '')));
    if (median !== undefined && min !== undefined && max !== undefined) figures[name] = [median, min, max];
  };
  for (const { what, measured } of targets) keep(what, measured);
  for (const { caption = '', columns, rows } of tables) {
    // Two tables may have the same rows.
    const [words] = /^[^.:]+/.exec(caption) ?? [];
    const about = tables.length > 1 && words ? `${words}, ` : '';
    for (const row of rows) {
      const name = row.filter((_, index) => columns[index] === '').join(', ');
      row.forEach((cell, index) => keep(`${about}${name}: ${columns[index]}`, cell));
    }
  }
  return { bench, at: taken.at, commit, machine: taken.machine, figures };
}

/**
 * The commit that is measured; with a `+` where files differ from it. `null` where there is no repository.
 * @returns {string | null}
 */
export function currentCommit() {
  /** @param {...string} args */
  const git = (...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  const { status, stdout } = git('rev-parse', '--short', 'HEAD');
  if (status !== 0) return null;
  const changed = git('status', '--porcelain', '--', '.', ':!bench/results').stdout;
  return `${stdout.trim()}${changed ? '+' : ''}`;
}

/**
 * What a figure was in the run before that of the given moment, or nothing.
 * @param {Run[]} history
 * @param {string} bench
 * @param {string} at
 * @param {string} name
 */
export function figureBefore(history, bench, at, name) {
  const run = history.findLast((one) => one.bench === bench && one.at < at && one.figures[name]);
  const figure = run?.figures[name];
  return figure && `${shownFigure(figure)}, ${run.at.slice(0, 10)}`;
}

/**
 * The history of benches as text: under each figure a line for each run.
 * @param {Run[]} history
 * @param {string[]} benches
 */
export function shownHistory(history, benches) {
  return benches
    .flatMap((bench) => {
      const runs = history.filter((run) => run.bench === bench);
      const names = new Set(runs.toReversed().flatMap(({ figures }) => Object.keys(figures)));
      return Array.from(names, (name) => [`${bench}: ${name}`, ...runs.flatMap((run) => line(run, name))].join('\n'));
    })
    .join('\n\n');
}

/**
 * @param {Run} run
 * @param {string} name
 */
function line({ at, commit, machine, figures }, name) {
  const figure = figures[name];
  if (!figure) return [];
  const [day, time] = [at.slice(0, 10), at.slice(11, 16)];
  return `  ${day} ${time}  ${(commit ?? '–').padEnd(9)} ${shownFigure(figure).padEnd(32)} ${machine}`;
}

/** @param {KeptFigure} figure */
const shownFigure = ([median, min, max]) => spread({ median, min, max });
