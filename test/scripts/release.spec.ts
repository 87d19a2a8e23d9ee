import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'release-'));

/** What a script of the repository says, in plain Node. */
function evaluate(script: string, expression: string): unknown {
  const module = pathToFileURL(join(root, 'scripts/lib', script)).href;
  const program = `import * as it from '${module}'; console.log(JSON.stringify(${expression}) ?? null);`;
  const args = ['--input-type=module', '-e', program];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', stdio: 'pipe' }));
}

describe('a release', () => {
  afterAll(() => rmSync(folder, { recursive: true }));

  let base: string;
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@shop.example', ...args], {
      cwd: base,
      stdio: 'pipe',
    });
  const problems = () => evaluate('release/checks.mjs', `it.problemsOf('${base}')`) as string[];
  const library = (name: string, changes: object = {}) => ({
    name: `nestjs-${name}`,
    version: '1.2.0',
    peerDependencies: name === 'core' ? undefined : { 'nestjs-core': '^1.2.0' },
    publishConfig: { access: 'public', provenance: true },
    repository: { type: 'git', url: 'git+https://code.example/shop/payments.git', directory: `libs/${name}` },
    ...changes,
  });

  function write(file: string, content: string | object): void {
    mkdirSync(join(base, file, '..'), { recursive: true });
    writeFileSync(join(base, file), typeof content === 'string' ? content : JSON.stringify(content));
  }

  /** A repository that can be released as it is. */
  beforeEach(() => {
    base = mkdtempSync(join(folder, 'repository-'));
    write('package.json', { version: '1.2.0' });
    write('CHANGELOG.md', '# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2027-02-01\n\n- More.\n\n## [1.1.0]\n');
    write('SECURITY.md', 'Write to: security@shop.example');
    write('libs/console/package.json', library('console'));
    write('libs/core/package.json', library('core'));
    git('init', '--quiet');
    git('add', '.');
    git('commit', '--quiet', '-m', 'all');
  });

  function change(file: string, content: string | object): void {
    write(file, content);
    git('commit', '--quiet', '-am', 'change');
  }

  test('a release of a repository that is ready has no problems', () => {
    expect(problems()).toEqual([]);
  });

  test('a release is refused while something is not committed', () => {
    write('libs/core/new.ts', '');
    expect(problems()).toEqual(['The tree is not clean. Commit or remove:\n?? libs/core/new.ts']);
  });

  test('a release is refused if a package has another version, or needs another version of ours', () => {
    change('libs/core/package.json', library('core', { version: '1.1.0' }));
    expect(problems()).toEqual(['libs/core/package.json says version 1.1.0, package.json 1.2.0.']);
    change('libs/core/package.json', library('core'));
    change('libs/console/package.json', library('console', { peerDependencies: { 'nestjs-core': '^1.1.0' } }));
    expect(problems()).toEqual(['libs/console/package.json takes nestjs-core ^1.1.0; it is tested with ^1.2.0 alone.']);
  });

  test.each([
    ['no section', '## [1.1.0] - 2027-01-01\n\n- Less.\n'],
    ['an empty section', '## [1.2.0] - 2027-02-01\n\n## [1.1.0] - 2027-01-01\n\n- Less.\n'],
    ['a section without a date', '## [1.2.0]\n\n- More.\n'],
  ])('a release is refused with %s in the changelog', (_, text) => {
    change('CHANGELOG.md', text);
    expect(problems()).toEqual([
      'CHANGELOG.md does not say what is in 1.2.0: it needs "## [1.2.0] - YYYY-MM-DD" and a text.',
    ]);
  });

  test('a release is refused while SECURITY.md has no address for reports', () => {
    change('SECURITY.md', 'Write to: **NO ADDRESS YET**.');
    expect(problems()).toEqual([expect.stringContaining('SECURITY.md names no address')]);
  });

  test('a release is refused while the changelog has an unreleased section', () => {
    change('CHANGELOG.md', '## [Unreleased]\n\n- Later.\n\n## [1.2.0] - 2027-02-01\n\n- More.\n');
    expect(problems()).toEqual([expect.stringContaining('still has something below "## [Unreleased]"')]);
  });

  test("a release is refused if npm could not prove a package's provenance, with what to fill in", () => {
    change('libs/core/package.json', library('core', { publishConfig: undefined, repository: undefined }));
    expect(problems()).toEqual([
      'libs/core/package.json needs "publishConfig": { "access": "public", "provenance": true }.',
      expect.stringMatching(/^libs\/core\/package\.json does not say where its sources are\..*HOST\/OWNER\/REPOSITORY/),
    ]);
  });

  test('a release is refused if it does not keep its event schemas for the next one', () => {
    const schema = (required: string[]) => ({ properties: { version: { const: 2 } }, required });
    write('libs/core/schemas/bill.expired.json', schema(['id']));
    git('add', '.');
    git('commit', '--quiet', '-m', 'schemas');
    const refusal = [expect.stringContaining('cp libs/core/schemas/*.json etc/event-contract/2/')];
    expect(problems()).toEqual(refusal);
    write('etc/event-contract/2/bill.expired.json', schema([]));
    git('add', '.');
    git('commit', '--quiet', '-m', 'others');
    expect(problems()).toEqual(refusal);
    change('etc/event-contract/2/bill.expired.json', schema(['id']));
    expect(problems()).toEqual([]);
  });

  test('a release is refused outside of CI, before anything else', () => {
    const env = {
      ...process.env,
      NODE_OPTIONS: '',
      CI: 'true',
      ACTIONS_ID_TOKEN_REQUEST_URL: '',
      SIGSTORE_ID_TOKEN: '',
    };
    const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/release.mjs'], {
      cwd: root,
      encoding: 'utf8',
      env,
    });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^Only CI publishes, .*\n$/);
  });

  test('a release publishes a package after those that it needs', () => {
    const needs = (name: string, peers: string[], optional: string[] = []) => ({
      manifest: {
        name,
        peerDependencies: Object.fromEntries([...peers, ...optional].map((each) => [each, '^1.2.0'])),
        peerDependenciesMeta: Object.fromEntries(optional.map((each) => [each, { optional: true }])),
      },
    });
    const packages = [needs('console', ['core', 'axios']), needs('core', [], ['sandbox']), needs('sandbox', [])];
    const ordered = evaluate('release/publish.mjs', `it.inOrder(${JSON.stringify(packages)})`) as typeof packages;
    expect(ordered.map(({ manifest }) => manifest.name)).toEqual(['core', 'console', 'sandbox']);
  });

  test.each([
    [
      'publishes what is not there',
      '',
      ['view nestjs-core@1.2.0 version', 'publish core.tgz --provenance --access=public'],
    ],
    ['leaves what is published already', 'echo 1.2.0', ['view nestjs-core@1.2.0 version']],
  ])('a release %s', (_, answer, asked) => {
    const log = join(base, 'npm.log');
    writeFileSync(
      join(base, 'npm'),
      `#!/bin/sh\necho "$@" >>${log}\ncase $1 in view) ${answer || 'exit 1'} ;; esac\n`,
      {
        mode: 0o755,
      },
    );
    const program = `import { publish } from '${pathToFileURL(join(root, 'scripts/lib/release/publish.mjs')).href}';
      publish({ name: 'nestjs-core', version: '1.2.0' }, 'core.tgz');`;
    const env = { ...process.env, PATH: `${base}:${process.env['PATH']}` };
    execFileSync(process.execPath, ['--input-type=module', '-e', program], { env, stdio: 'pipe' });
    expect(readFileSync(log, 'utf8').trim().split('\n')).toEqual(asked);
  });

  test("a release has an SBOM of the package's dependencies only, in the tested versions", () => {
    const file = join(folder, 'sbom.json');
    const manifest = readFileSync(join(root, 'libs/payment-sandbox/package.json'), 'utf8');
    evaluate('release/sbom.mjs', `it.writeSbom(${manifest}, '${root}/libs/payment-sandbox', '${file}')`);
    const sbom = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    const versionOf = (name: string) =>
      (JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')) as { version: string })
        .version;
    expect(sbom).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { name: 'nestjs-payment-sandbox', licenses: [{ license: { id: 'MIT' } }] } },
      components: ['busboy', 'streamsearch'].map((name) => ({ name, version: versionOf(name) })),
    });
  });
});
