// node bench/lib/seed-history.mjs: adds to the history what the repository has of results from before.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { root } from '../../scripts/lib/project.mjs';
import { addToHistory, runOf } from './history.mjs';

const FOLDER = 'bench/results';

/** @param {...string} args */
function git(...args) {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout.split('\n').filter(Boolean);
}

const runs = git('log', '--reverse', '--format=%h', '--', FOLDER).flatMap((commit) =>
  git('diff-tree', '--root', '--no-commit-id', '--name-only', '--diff-filter=AM', '-r', commit, '--', FOLDER)
    .filter((file) => file.endsWith('.json') && !file.endsWith('history.json'))
    .map((file) =>
      runOf(path.basename(file, '.json'), JSON.parse(git('show', `${commit}:${file}`).join('\n')), commit),
    ),
);
addToHistory(path.join(root, FOLDER), runs);
console.log(`${runs.length} results, of ${new Set(runs.map(({ commit }) => commit)).size} commits.`);
