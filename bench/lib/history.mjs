import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { root } from '../../scripts/lib/project.mjs';
import { spread } from './spread.mjs';

/*
 * How figures went over commits: bench/results/history.json, a line for each full run of a bench, the oldest first. What is
 * kept is what the report shows, so that results of before there was a history can be added to it (seed-history.mjs).
 */

const FILE = 'history.json';
const SPREAD = /^([\d,.]+) \(([\d,.]+) – ([\d,.]+)\)$/;

/** The runs: `{ bench, at, commit, machine, figures: { name: [median, min, max] } }`. */
export function readHistory(folder) {
  const file = path.join(folder, FILE);
  return fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : [];
}

/** Adds runs, of which one that is there already stays as it is. */
export function addToHistory(folder, runs) {
  const all = readHistory(folder);
  const known = new Set(all.map(keyOf));
  all.push(...runs.filter((run) => !known.has(keyOf(run)) && Object.keys(run.figures).length > 0));
  all.sort((a, b) => (a.at < b.at ? -1 : 1));
  fs.writeFileSync(path.join(folder, FILE), `[\n${all.map((run) => JSON.stringify(run)).join(',\n')}\n]\n`);
}

const keyOf = ({ bench, at }) => `${bench} ${at}`;

/** What is kept of a result, as it is in bench/results. */
export function runOf(bench, { taken, targets = [], tables = [] }, commit) {
  const figures = {};
  const keep = (name, text) => {
    const numbers = SPREAD.exec(text)
      ?.slice(1)
      .map((number) => Number(number.replaceAll(',', '')));
    if (numbers) figures[name] = numbers;
  };
  for (const { what, measured } of targets) keep(what, measured);
  for (const { caption = '', columns, rows } of tables) {
    // Two tables may have the same rows.
    const about = tables.length > 1 && /^[^.:]+/.exec(caption) ? `${/^[^.:]+/.exec(caption)[0]}, ` : '';
    for (const row of rows) {
      const name = row.filter((_, index) => columns[index] === '').join(', ');
      row.forEach((cell, index) => keep(`${about}${name}: ${columns[index]}`, cell));
    }
  }
  return { bench, at: taken.at, commit, machine: taken.machine, figures };
}

/** The commit that is measured; with a `+` where files differ from it. `null` where there is no repository. */
export function currentCommit() {
  const git = (...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  const { status, stdout } = git('rev-parse', '--short', 'HEAD');
  if (status !== 0) return null;
  const changed = git('status', '--porcelain', '--', '.', ':!bench/results').stdout;
  return `${stdout.trim()}${changed ? '+' : ''}`;
}

/** What a figure was in the run before that of the given moment, or nothing. */
export function figureBefore(history, bench, at, name) {
  const run = history.findLast((one) => one.bench === bench && one.at < at && one.figures[name]);
  return run && `${shownFigure(run.figures[name])}, ${run.at.slice(0, 10)}`;
}

/** The history of benches as text: under each figure a line for each run. */
export function shownHistory(history, benches) {
  return benches
    .flatMap((bench) => {
      const runs = history.filter((run) => run.bench === bench);
      const names = new Set(runs.toReversed().flatMap(({ figures }) => Object.keys(figures)));
      return Array.from(names, (name) => [`${bench}: ${name}`, ...runs.flatMap((run) => line(run, name))].join('\n'));
    })
    .join('\n\n');
}

function line({ at, commit, machine, figures }, name) {
  if (!figures[name]) return [];
  const [day, time] = [at.slice(0, 10), at.slice(11, 16)];
  return `  ${day} ${time}  ${(commit ?? '–').padEnd(9)} ${shownFigure(figures[name]).padEnd(32)} ${machine}`;
}

const shownFigure = ([median, min, max]) => spread({ median, min, max });
