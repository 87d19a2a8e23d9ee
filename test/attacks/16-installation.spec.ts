import { describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Manifest {
  readonly name: string;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly gypfile?: boolean;
  readonly bundleDependencies?: unknown;
  readonly bundledDependencies?: unknown;
}

/** Scripts that npm runs by itself when a package is installed from a registry, a file or a repository. */
const RUN_BY_NPM = ['install', 'prepare', 'prepublish', 'prepack', 'dependencies'].flatMap((name) => [
  name,
  `pre${name}`,
  `post${name}`,
]);

const folders = ['libs', 'dist/libs']
  .filter((folder) => existsSync(folder))
  .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
if (!existsSync('dist/libs')) {
  process.stdout.write(
    '16: what is published is left out, since dist/libs is not there; npm run build leaves it there\n',
  );
}

describe.each(folders)('16: installing %s', (folder) => {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;

  test('installing the package runs no script of ours', () => {
    expect(RUN_BY_NPM.filter((script) => script in (manifest.scripts ?? {}))).toEqual([]);
    // npm compiles native code by itself if this file exists.
    expect([existsSync(join(folder, 'binding.gyp')), manifest.gypfile]).toEqual([false, undefined]);
  });

  test('the package takes every dependency from the registry, by version, and bundles none', () => {
    for (const [name, range] of Object.entries(manifest.dependencies ?? {})) {
      expect([name, range]).toEqual([name, expect.stringMatching(/^[\^~]?\d+\.\d+\.\d+$/)]);
    }
    expect([manifest.bundleDependencies, manifest.bundledDependencies]).toEqual([undefined, undefined]);
  });

  test('the package contains the compiled library and its documents, and nothing else from the repository', () => {
    const listed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const packed: unknown = JSON.parse(listed);
    const [report] = Object.values(packed as Record<string, { files: { path: string }[] }>);
    const others = report!.files.map(({ path }) => path).filter((path) => !path.startsWith('dist/'));
    for (const path of others)
      expect(path).toMatch(/^(package\.json|[A-Z]+(\.md)?|Dockerfile|(schemas|monitoring)\/[\w.-]+)$/);
    for (const { path } of report!.files) expect(path).not.toMatch(/\.env|\.npmrc|\.spec\.|(^|\/)test\//i);
  });
});
