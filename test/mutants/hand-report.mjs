/**
 * What became of hand-made mutants: a table in Markdown with a sentence, and counts in the words of other suites.
 * @param {import('./hand.mjs').Tried[]} rows
 */
export function report(rows) {
  const table = [
    ['mutant', 'what it breaks', 'end', 'seconds'],
    ['---', '---', '---', '---:'],
    ...rows.map(({ name, breaks, end, seconds }) => [name, breaks, end, seconds.toFixed(1)]),
  ].map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`);
  const passed = rows.filter(({ ok }) => ok).length;
  const counts = { passed, failed: rows.length - passed, skipped: 0 };
  return { text: `${table.join('\n')}\n\n${passed} of ${rows.length} were noticed.\n`, counts };
}
