import { table } from '../chaos/tables.mjs';

/** @typedef {{ line: number; column: number }} Place */
/** @typedef {{ status: string; location: { start: Place; end: Place }; replacement: string }} ReportedMutant */
/** @typedef {{ file: string; code: string; mutant: string; reason?: string }} Survivor */
/** @typedef {Survivor & { status: string }} PureMutant */

const STANDING = ['Survived', 'NoCoverage', 'Timeout'];
const SOURCE = 'libs/payment-acceptance/src/';

/**
 * The mutants of StrykerJS's report: how each ended, and its lines before and after, which say where it is.
 * @param {{ files: Record<string, { source: string; mutants: ReportedMutant[] }> }} report
 * @returns {PureMutant[]}
 */
export function readReport({ files }) {
  return Object.entries(files).flatMap(([file, { source, mutants }]) =>
    mutants.map(({ status, location, replacement }) => ({
      file: file.replace(SOURCE, ''),
      status,
      ...linesOf(source.split('\n'), location, replacement),
    })),
  );
}

/**
 * The first and the last line that a mutant touches. Unlike their numbers, they stay when others change.
 * @param {string[]} lines
 * @param {ReportedMutant['location']} location
 * @param {string} replacement
 */
function linesOf(lines, { start, end }, replacement) {
  const [first = '', last = ''] = [lines[start.line - 1], lines[end.line - 1]];
  const mutant = first.slice(0, start.column - 1) + replacement + last.slice(end.column - 1);
  return {
    code: start.line === end.line ? first.trim() : `${first.trim()} … ${last.trim()}`,
    mutant: mutant.replace(/\s+/g, ' ').trim(),
  };
}

/**
 * One line of the table. A mutant that never ends, or does not even load, was noticed as much as one that fails a test.
 * @param {string} file
 * @param {PureMutant[]} mutants
 */
export function rowOf(file, mutants) {
  /** @param {...string} statuses */
  const count = (...statuses) => mutants.filter(({ status }) => statuses.includes(status)).length;
  const row = {
    file,
    mutants: mutants.length,
    killed: count('Killed', 'RuntimeError'),
    timedOut: count('Timeout'),
    survived: count('Survived'),
    noCoverage: count('NoCoverage'),
  };
  return { ...row, score: (100 * (row.killed + row.timedOut)) / row.mutants };
}

/** @param {ReturnType<typeof rowOf>[]} rows */
export function tableOf(rows) {
  return table([
    ['file', 'mutants', 'killed', 'timed out', 'survived', 'no coverage', 'score'],
    ...rows.map(({ score, ...row }) => [...Object.values(row), `${score.toFixed(1)} %`]),
  ]);
}

/**
 * Compares what survived with what is listed. Of lines that are in a file twice, each counts. A listed one that has timed
 * out is not gone: the machine was only too slow to tell.
 * @param {PureMutant[]} mutants
 * @param {Survivor[]} listed
 */
export function compareSurvivors(mutants, listed) {
  const gone = [...listed];
  /** @type {[Survivor[], Survivor[]]} */
  const [accepted, unknown] = [[], []];
  for (const each of mutants.filter(({ status }) => STANDING.includes(status))) {
    const place = gone.findIndex(
      ({ file, code, mutant }) => file === each.file && code === each.code && mutant === each.mutant,
    );
    if (place >= 0) accepted.push(...gone.splice(place, 1));
    else if (each.status !== 'Timeout') unknown.push(each);
  }
  return { accepted, unknown, gone };
}
