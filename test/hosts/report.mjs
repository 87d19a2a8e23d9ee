/** @import { Check } from './attempt.mjs' */

/** @typedef {{ name: string, versions?: string, leftOut?: string, checks: Check[] }} Result Of one host. */

const REPEATED_LINES = 5;

/** A table of what was tried: a line for each combination, a column for each host. */
export function show(/** @type {Result[]} */ results) {
  const ran = results.filter(({ leftOut }) => !leftOut);
  const names = [...new Set(ran.flatMap(({ checks }) => checks.map(({ name }) => name)))];
  const width = Math.max(0, ...names.map((name) => name.length));
  console.log(`\n${''.padEnd(width)}  ${ran.map(({ name }) => name).join('  ')}`);
  for (const name of names) {
    const cells = ran.map((host) => {
      const check = host.checks.find((each) => each.name === name);
      return (!check || check.skipped ? '–' : check.ok ? 'passed' : 'FAILED').padEnd(host.name.length);
    });
    console.log(`${name.padEnd(width)}  ${cells.join('  ')}`);
  }
  console.log('');
  for (const { name, versions, checks } of ran) {
    const time = checks.find((check) => check.name === 'time to import' && check.ok);
    console.log(`${name}: ${versions}${time ? `; ${time.detail.trim()}` : ''}`);
  }
  for (const { name, leftOut } of results.filter((host) => host.leftOut)) console.log(`${name}: left out: ${leftOut}`);
  for (const { name, skipped } of results.flatMap(({ checks }) => checks)) {
    if (skipped) console.log(`${name}: left out: ${skipped}`);
  }
  // Once more, since a log may keep only its end.
  for (const { name, checks } of ran) {
    for (const check of checks.filter(({ ok }) => !ok)) {
      console.log(`${name}: ${check.name}: ${check.detail.trim().split('\n', REPEATED_LINES).join('\n')}`);
    }
  }
  const { passed, failed, skipped } = counts(results);
  console.log(`${passed} passed, ${failed} failed, ${skipped} left out`);
}

export function counts(/** @type {Result[]} */ results) {
  const checks = results.flatMap((host) => host.checks);
  const tried = checks.filter(({ skipped }) => !skipped);
  const passed = tried.filter(({ ok }) => ok).length;
  const leftOut = results.filter((host) => host.leftOut).length;
  return { passed, failed: tried.length - passed, skipped: leftOut + checks.length - tried.length };
}
