/** What became of the mutants of one kind, as a table in Markdown and a sentence. */
export function report(rows) {
  const table = [
    ['mutant', 'what it breaks', 'end', 'seconds'],
    ['---', '---', '---', '---:'],
    ...rows.map(({ name, breaks, end, seconds }) => [name, breaks, end, seconds.toFixed(1)]),
  ].map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`);
  const { passed, failed } = counts(rows);
  return `${table.join('\n')}\n\n${passed} of ${passed + failed} were noticed.\n`;
}

/** In the words of other suites: a mutant that a test has noticed has passed. */
export function counts(rows) {
  const passed = rows.filter(({ ok }) => ok).length;
  return { passed, failed: rows.length - passed, skipped: 0 };
}
