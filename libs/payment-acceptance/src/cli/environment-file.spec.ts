import { afterAll, describe, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readArguments } from './arguments.js';
import { loadEnvironmentFiles } from './environment-file.js';

describe('the environment of a command', () => {
  const folder = mkdtempSync(join(tmpdir(), 'payment-acceptance-env-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const load = (env: NodeJS.ProcessEnv, ...options: string[]): string =>
    loadEnvironmentFiles(readArguments(['status', ...options])!, env);

  test('environment files set only unset variables: even an empty one stays, and the first file wins', () => {
    const local = file('.env.local', '\uFEFFA=local\nURL="postgres://me:p#ss@db/shop" # comment\n');
    const shared = file('.env', 'A=shared\r\nexport B=shared\r\nC=shared\r\nD=shared\r\n');
    const env: NodeJS.ProcessEnv = { C: 'real', D: '' };
    expect(load(env, '--env-file', local, '--env-file', shared)).toBe(`${local}, ${shared}`);
    expect(env).toEqual({ A: 'local', URL: 'postgres://me:p#ss@db/shop', B: 'shared', C: 'real', D: '' });
  });

  test('a missing .env is ignored, but a named environment file must exist', () => {
    const env = {};
    expect(load(env)).toBe(`${join(process.cwd(), '.env')} (which does not exist)`);
    expect(env).toEqual({});
    const missing = join(folder, 'missing');
    expect(() => load(env, '--env-file', missing)).toThrow('ENOENT');
    mkdirSync(join(folder, 'folder'));
    expect(() => load(env, '--env-file', join(folder, 'folder'))).toThrow('EISDIR');
  });
});
