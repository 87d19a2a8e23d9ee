// npm run audit: known weaknesses in what an installation of the libraries brings along: their dependencies and peers,
// with all that these need. Asks the registry; where it cannot be asked, the check is skipped, and says why.
import './lib/node-version.mjs';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { leaveCounts } from './lib/counts.mjs';
import { command } from './lib/lifecycle.mjs';
import { root } from './lib/project.mjs';
import { argumentsOf } from './lib/usage.mjs';

argumentsOf(
  'npm run audit\n\nKnown weaknesses of what an installation of the libraries brings along. Asks the registry of npm.',
);

const libraries = fs.readdirSync(path.join(root, 'libs')).map((name) => `--workspace=libs/${name}`);

await command(() => {
  const { stdout, error } = spawnSync('npm', ['audit', '--omit=dev', '--json', ...libraries], {
    cwd: root,
    encoding: 'utf8',
    timeout: 60_000,
  });
  const report = read(stdout);
  if (report?.auditReportVersion === undefined) {
    const reason = report?.message ?? report?.error?.summary ?? error?.message ?? 'npm gave no report';
    console.log(`Audit skipped: the registry cannot be asked (${reason}).`);
    return leave({ passed: 0, failed: 0, skipped: 1, reason });
  }
  /** @type {{ name: string; severity: string; range: string; via: (string | { title: string; url: string })[] }[]} */
  const found = Object.values(report.vulnerabilities);
  for (const { name, severity, range, via } of found) {
    const advisories = via.map((each) => (typeof each === 'string' ? `through ${each}` : `${each.title} ${each.url}`));
    console.log(`${name} ${range}: ${severity}: ${advisories.join('; ')}`);
  }
  const number = report.metadata.dependencies.prod;
  console.log(
    found.length > 0 ? `Audit failed: ${found.length} of ${number} packages.` : `Audit passed: ${number} packages.`,
  );
  return leave({ passed: found.length > 0 ? 0 : 1, failed: found.length, skipped: 0 });
});

/** @param {string} text */
function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Gives the exit code, too.
 * @param {import('./lib/counts.mjs').Counts} counts
 */
function leave(counts) {
  leaveCounts(counts);
  return counts.failed > 0 ? 1 : 0;
}
