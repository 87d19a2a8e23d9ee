// npm run lint: ESLint, the type check of everything with its tests, the import directions, what nobody uses, the generated
// documentation, the report of what is exported, the format. Runs all at once, and fails if one did.
import './lib/node-version.mjs';
import { run } from './lib/children.mjs';
import { ensureInstalled } from './lib/install.mjs';
import { command } from './lib/lifecycle.mjs';
import { argumentsOf } from './lib/usage.mjs';

argumentsOf(
  'npm run lint\n\nESLint, types, import directions, unused files and exports, generated documentation, exported names, format. "npm run format" repairs.',
);

const checks = {
  eslint: ['node_modules/eslint/bin/eslint.js', '.', '--max-warnings=0'],
  types: ['node_modules/typescript/lib/tsc.js', '-p', 'tsconfig.json'],
  'types of scripts': ['node_modules/typescript/lib/tsc.js', '-p', 'tsconfig.scripts.json'],
  imports: ['scripts/check-imports.mjs'],
  'unused files and exports': ['node_modules/knip/bin/knip.js', '--no-progress'],
  docs: ['scripts/docs.mjs', '--check'],
  api: ['scripts/api.mjs', '--check'],
  format: ['node_modules/prettier/bin/prettier.cjs', '--check', '--log-level=warn', '.'],
};

await command(async () => {
  await ensureInstalled();
  const codes = await Promise.all(Object.values(checks).map((args) => run(process.execPath, args)));
  const failed = Object.keys(checks).filter((_, index) => codes[index] !== 0);
  console.log(failed.length > 0 ? `Lint failed: ${failed.join(', ')}.` : 'Lint passed.');
  return failed.length > 0 ? 1 : 0;
});
