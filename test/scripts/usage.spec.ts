import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';

const COMMANDS = 'api audit bench build demo docs hosts lint release shop start test-database test-full'.split(' ');

const run = (name: string, argument: string) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [`scripts/${name}.mjs`, argument], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
    timeout: 20_000,
  });
  return { status, stdout, stderr };
};

test.each([...COMMANDS, 'chaos', 'mutants', 'upgrade'])(
  '%s tells what it does and takes, and does nothing else',
  (name) => {
    const help = run(name, '--help');
    expect(help).toMatchObject({ status: 0, stderr: '' });
    expect(help.stdout).toMatch(/^Usage: (npm|node) [\s\S]+/);
  },
);

test.each(COMMANDS)('%s refuses what it does not take', (name) => {
  const refused = run(name, '--prot=1');
  expect(refused).toMatchObject({ status: 1, stdout: '' });
  expect(refused.stderr).toMatch(/^"--prot=1" is nothing that this command takes\.\nUsage: /);
});
