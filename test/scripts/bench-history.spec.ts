import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';

test('npm run bench -- --history prints the history of the named benches, and measures nothing', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/bench.mjs', '--history', 'growth'], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
    timeout: 20_000,
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(
    /^growth: Postbacks answered per second\n( {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}\w+\+? .*\(.* – .*\).*\n)+/,
  );
  expect(stdout).not.toMatch(/^(postbacks|payments):/m);
});
