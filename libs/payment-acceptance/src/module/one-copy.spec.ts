import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { duplicateCopyProblem } from './one-copy.js';

describe('one copy of what is shared with the application', () => {
  let root: string;
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'copies-')));
    make('app/node_modules/typeorm');
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const make = (...folders: string[]) =>
    folders.forEach((folder) => mkdirSync(join(root, folder), { recursive: true }));
  const code = (own: string) => join(root, own, 'dist/code');

  test('an installed package shares its dependencies with the application', () => {
    make('app/node_modules/nestjs-payment-acceptance', 'app/src');
    expect(
      duplicateCopyProblem(code('app/node_modules/nestjs-payment-acceptance'), join(root, 'app/src')),
    ).toBeUndefined();
  });

  test('a linked package with a second copy of a shared dependency is reported', () => {
    make('linked/node_modules/typeorm', 'linked/dist/code');
    symlinkSync(join(root, 'linked'), join(root, 'app/node_modules/nestjs-payment-acceptance'));
    const theirs = join(root, 'app/node_modules/typeorm');
    const ours = join(root, 'linked/node_modules/typeorm');
    expect(duplicateCopyProblem(code('linked'), join(root, 'app'))).toContain(
      `typeorm is installed twice, for the application in ${theirs} and for nestjs-payment-acceptance in ${ours}`,
    );
  });

  test('no second copy is reported for an application elsewhere, another copy of the package, or a bundle', () => {
    make('linked/node_modules/typeorm', 'app/node_modules/typeorm');
    make('app/node_modules/nestjs-payment-acceptance/node_modules/typeorm');
    expect(duplicateCopyProblem(code('linked'), root)).toBeUndefined();
    expect(duplicateCopyProblem(code('linked'), join(root, 'app'))).toBeUndefined();
    expect(duplicateCopyProblem(undefined, join(root, 'app'))).toBeUndefined();
  });
});
