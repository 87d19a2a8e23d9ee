import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { attempt, printed, settled } from './attempt.mjs';
import { freshDatabase } from './fresh-database.mjs';
import { run, RunError } from './run.mjs';

/** @import { Check } from './attempt.mjs' */
/** @typedef {(...args: string[]) => Promise<string>} RunNode */

/** Everything that is tried in one host, with a payment of its own where it says so. */
export async function checkHost(/** @type {string} */ folder, /** @type {string} */ serverUrl) {
  const env = { ...process.env, NODE_ENV: 'test', NODE_OPTIONS: '', DATABASE_URL: await freshDatabase(serverUrl) };
  const node = (/** @type {string[]} */ ...args) => run(process.execPath, args, { cwd: folder, env });
  const isModule = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8')).type === 'module';
  const checks = [...(await jestIn(folder, env)), ...(await typesIn(node))];
  if (fs.existsSync(path.join(folder, 'vitest.config.mjs'))) {
    const vitest = path.join(folder, 'node_modules/.bin/vitest');
    checks.push(await attempt('the five lines with Vitest', () => run(vitest, ['run'], { cwd: folder, env })));
  }
  for (const format of isModule ? ['ES module', 'CommonJS'] : ['CommonJS', 'ES module']) {
    checks.push(await attempt(`a payment, built as ${format}`, () => builtProgram(folder, format, isModule, node)));
  }
  for (const tool of ['sentry', 'sentry9', 'opentelemetry', 'nestjs-otel']) {
    if (!fs.existsSync(path.join(folder, `${tool}.cjs`))) continue;
    for (const place of ['before', 'after']) {
      const payments = place === 'before' ? 'first' : 'last';
      checks.push(
        await attempt(`a plain listener that throws once, with ${tool}, payments ${place} the emitter`, async () => {
          const output = await node('-r', `./${tool}.cjs`, 'dist-commonjs/instrumented.js', payments);
          if (!output.endsWith('heard again\n')) throw new RunError('It was not heard again.', output);
        }),
      );
    }
  }
  checks.push(
    await attempt('a payment through both formats and two copies at once', () => node('checks/both-formats.mjs')),
    await attempt('npx nestjs-payment-sandbox', () => sandboxProgram(folder, env)),
    await attempt('npx payment-acceptance migrate', () =>
      run(path.join(folder, 'node_modules/.bin/payment-acceptance'), ['migrate'], { cwd: folder, env }),
    ),
    await attempt('a data source and options in TypeScript', () => node('checks/typescript.mjs')),
    await attempt('a stack trace', () => node('checks/stack.mjs')),
    await attempt('time to import', () => node('checks/import-time.mjs')),
  );
  return printed(checks);
}

/**
 * The host's own Jest, as its package.json starts it.
 *
 * @returns {Promise<Check[]>}
 */
async function jestIn(/** @type {string} */ folder, /** @type {NodeJS.ProcessEnv} */ env) {
  const file = path.join(folder, 'jest-results.json');
  const { output } = await settled(
    run('npm', ['test', '--silent', '--', '--json', `--outputFile=${file}`], { cwd: folder, env }),
  );
  if (!fs.existsSync(file)) return [{ name: 'Jest', ok: false, detail: output }];
  /**
   * @typedef {{ fullName: string, status: string, failureMessages: string[] }} Assertion
   * @type {{ testResults: { assertionResults: Assertion[], message: string }[] }}
   */
  const { testResults } = JSON.parse(fs.readFileSync(file, 'utf8'));
  return testResults.flatMap(({ assertionResults, message }) =>
    assertionResults.length > 0
      ? assertionResults.map(({ fullName, status, failureMessages }) => ({
          name: fullName,
          ok: status === 'passed',
          detail: failureMessages.join('\n'),
        }))
      : [{ name: 'Jest', ok: false, detail: message }],
  );
}

/**
 * One line of JSON for each way in which a host's TypeScript may look for types.
 *
 * @returns {Promise<Check[]>}
 */
async function typesIn(/** @type {RunNode} */ node) {
  const { error, output } = await settled(node('checks/types.mjs'));
  if (error) return [{ name: 'types', ok: false, detail: output }];
  return output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** Compiled with tsc in the format that is asked for, and run by plain Node. */
async function builtProgram(
  /** @type {string} */ folder,
  /** @type {string} */ format,
  /** @type {boolean} */ isModule,
  /** @type {RunNode} */ node,
) {
  const type = format === 'CommonJS' ? 'commonjs' : 'module';
  const out = `dist-${type}`;
  const own = isModule === (type === 'module');
  const [module, resolution] = type === 'module' ? ['esnext', 'bundler'] : ['commonjs', 'bundler'];
  const foreign = ['--module', module, '--moduleResolution', resolution];
  await node('node_modules/typescript/bin/tsc', '-p', 'tsconfig.json', '--outDir', out, ...(own ? [] : foreign));
  fs.writeFileSync(path.join(folder, out, 'package.json'), JSON.stringify({ type }));
  const output = await node(`${out}/main.js`);
  if (output.trim() !== 'paid') throw new RunError('It did not end paid.', output);
}

/** Started as npx starts it, asked for a bill, and stopped. */
async function sandboxProgram(/** @type {string} */ folder, /** @type {NodeJS.ProcessEnv} */ env) {
  const program = path.join(folder, 'node_modules/.bin/nestjs-payment-sandbox');
  const child = spawn(program, ['--port', '0'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    let output = '';
    for await (const chunk of child.stdout) if (/^Ready/m.test((output += chunk))) break;
    const [, url] = /^Sandbox: (\S+)$/m.exec(output) ?? [];
    const answer = await fetch(`${url}/api/v1/bill/create`, {
      method: 'POST',
      headers: { authorization: 'Bearer sandbox-main-token-0123456789abcdef' },
      body: new URLSearchParams({ shop_id: 'demo-main', order_id: '1', amount: '100.05' }),
    });
    if (!answer.ok) throw new RunError(`${answer.status}`, await answer.text());
    child.kill('SIGTERM');
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`It ended with ${code}.`);
  } finally {
    child.kill('SIGKILL');
  }
}
