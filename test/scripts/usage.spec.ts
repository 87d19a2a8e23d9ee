import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const COMMANDS = 'api audit bench build demo docs hosts lint release shop start test-database test-full'.split(' ');

const run = (name: string, argument: string) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [`scripts/${name}.mjs`, argument], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
    timeout: 20_000,
  });
  return { status, stdout, stderr };
};

test.each([...COMMANDS, 'chaos', 'mutants', 'upgrade'])('%s --help prints its usage, and does nothing else', (name) => {
  const help = run(name, '--help');
  expect(help).toMatchObject({ status: 0, stderr: '' });
  expect(help.stdout).toMatch(/^Usage: (npm|node) [\s\S]+/);
});

test.each(COMMANDS)('%s refuses an unknown option', (name) => {
  const refused = run(name, '--prot=1');
  expect(refused).toMatchObject({ status: 1, stdout: '' });
  expect(refused.stderr).toMatch(/^"--prot=1" is nothing that this command takes\.\nUsage: /);
});

test('npx runs the sandbox of the repository without a network', () => {
  const cache = mkdtempSync(join(tmpdir(), 'npm-cache-'));
  const args = ['exec', '--offline', '--', 'nestjs-payment-sandbox', '--version'];
  const env = { ...process.env, NODE_OPTIONS: '', npm_config_cache: cache };
  const { status, stdout } = spawnSync('npm', args, { encoding: 'utf8', env });
  rmSync(cache, { recursive: true, force: true });
  expect([status, stdout.trim()]).toEqual([0, '0.1.0']);
});
