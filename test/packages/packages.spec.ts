import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { VERSION } from '../../libs/payment-acceptance/src/common/version.js';
import { VERSION as SANDBOX_VERSION } from '../../libs/payment-sandbox/src/common/version.js';
import * as acceptance from 'nestjs-payment-acceptance';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { createTestDatabase } from '../support/database.js';

const root = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'packages-'));
const names = readdirSync(join(root, 'libs')).map((library) => `nestjs-${library}`);
/** Where the build has left a package, and where the sources are. */
const libraryOf = (name: string): string => name.replace('nestjs-', '');

describe('packages', () => {
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Runs a program without what Jest was started with; fails with everything it printed. */
  async function run(program: string, args: string[], cwd = root): Promise<string> {
    try {
      const { stdout } = await promisify(execFile)(program, args, { cwd, env: { ...process.env, NODE_OPTIONS: '' } });
      return stdout;
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string };
      throw new Error(`${program} ${args.join(' ')}\n${stdout}${stderr}`, { cause: error });
    }
  }

  interface Packed {
    filename: string;
    files: { path: string }[];
  }
  interface Manifest {
    version: string;
    exports: Record<string, unknown>;
    dependencies: Record<string, string>;
    peerDependencies: Record<string, string>;
    peerDependenciesMeta?: Record<string, { optional?: boolean }>;
  }

  const packed = new Map<string, Packed>();
  const installed = (name: string): string => join(folder, 'node_modules', name);
  const manifestOf = (name: string) =>
    JSON.parse(readFileSync(join(installed(name), 'package.json'), 'utf8')) as Manifest;

  const codeIn = (name: string, ending: string) =>
    packed
      .get(name)!
      .files.filter(({ path }) => path.startsWith('dist/code/') && path.endsWith(ending))
      .map(({ path }) => readFileSync(join(installed(name), path), 'utf8'));
  const codeOf = (name: string): string => codeIn(name, '.cjs').join('\n');

  /** What the source maps say that the code was made of. */
  const sourcesOf = (name: string): { path: string; text: string }[] =>
    codeIn(name, '.map')
      .map((map) => JSON.parse(map) as { sources: string[]; sourcesContent: string[] })
      .flatMap(({ sources, sourcesContent }) =>
        sources.map((source, index) => ({ path: join('dist/code', source), text: sourcesContent[index]! })),
      )
      .filter(({ path }) => !path.includes('node_modules/tslib'));

  /** Packs the packages and unpacks them where Node finds them, beside the packages of this repository. */
  beforeAll(async () => {
    await run(process.execPath, ['scripts/build.mjs', folder]);
    mkdirSync(join(folder, 'node_modules'));
    for (const name of readdirSync(join(root, 'node_modules'))) {
      if (!name.startsWith('nestjs-payment-')) symlinkSync(join(root, 'node_modules', name), installed(name));
    }
    for (const name of names) {
      const output = await run('npm', ['pack', `./${libraryOf(name)}`, '--json', '--loglevel=error'], folder);
      const [result] = Object.values(JSON.parse(output) as Record<string, Packed>);
      if (!result) throw new Error(output);
      packed.set(name, result);
      mkdirSync(installed(name));
      await run('tar', ['xzf', result.filename, '--strip-components=1', '-C', installed(name)], folder);
    }
  }, 240_000);

  const evaluate = (program: string, ...options: string[]): Promise<string> =>
    run(process.execPath, [...options, '--input-type=module', '-e', program], folder);

  describe.each(names)('%s', (name) => {
    test('the package passes publint, and its types resolve in every module mode', async () => {
      const file = join(folder, packed.get(name)!.filename);
      await run(process.execPath, ['node_modules/publint/src/cli.js', 'run', file, '--strict']);
      await run(process.execPath, ['node_modules/@arethetypeswrong/cli/dist/index.js', file]);
    });

    test('the package holds code, declarations and documents only', () => {
      const paths = packed.get(name)!.files.map(({ path }) => path);
      expect(paths).toEqual(expect.arrayContaining(['README.md', 'LICENSE', 'CHANGELOG.md', 'package.json']));
      const monitoring = readdirSync(join(root, 'libs/payment-acceptance/monitoring')).map(
        (file) => `monitoring/${file}`,
      );
      expect(paths.filter((path) => path.startsWith('monitoring/'))).toEqual(
        name === 'nestjs-payment-acceptance' ? monitoring : [],
      );
      const rest = paths.filter((path) => !/^(\w+\.md|LICENSE|Dockerfile|package\.json|monitoring\/.*)$/.test(path));
      expect(
        rest.filter((path) => !/^(schemas\/[\w.-]+\.json|dist\/(code\/[\w-]+\.cjs(\.map)?|(esm|cjs)\/.*))$/.test(path)),
      ).toEqual([]);
      expect(rest.filter((path) => /spec|tsbuildinfo|[^d]\.ts$/.test(path))).toEqual([]);
    });

    test('the package can be published without a warning', async () => {
      // A registry that does not answer, so that nothing can be published by mistake.
      const settings = ['--registry=http://127.0.0.1:9', '--//127.0.0.1:9/:_authToken=none', '--fetch-retries=0'];
      const args = ['publish', '--dry-run', '--userconfig=/dev/null', ...settings];
      const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith('npm_')));
      const { stderr } = await promisify(execFile)('npm', args, { cwd: join(folder, libraryOf(name)), env });
      expect(stderr).toContain('npm notice total files:');
      expect(stderr).not.toMatch(/npm (warn|error)/);
    });

    test("the package's code has the comments, names and lines of its sources, which are included", () => {
      const code = codeOf(name);
      const sources = sourcesOf(name);
      expect(sources.length).toBeGreaterThan(10);
      for (const { path, text } of sources) {
        expect([path, text]).toEqual([path, readFileSync(join(root, 'libs', libraryOf(name), path), 'utf8')]);
        // A private method, its comment, and a local variable that takes a line.
        const written = text.replace(/= `(?:\\.|[^`\\])*`;/g, ''); // without code that is printed for others
        const [, ...methods] = [...written.matchAll(/^ {2}(?:private |async )*(\w+)\([^()]*\)[^\n]* \{$/gm)];
        for (const [, method] of methods) expect(code).toMatch(new RegExp(`^ {4}(async )?\\*?${method}\\(`, 'm'));
        for (const [, variable] of text.matchAll(/^ {4}const (\w+) = /gm)) {
          expect(code).toMatch(new RegExp(`^ +const ${variable} = `, 'm'));
        }
        for (const [comment] of text.matchAll(/(?<=^ {2})\/\*\* [^\n]* \*\/(?=\n {2}private (async )?\w+\()/gm)) {
          expect(code).toContain(`    ${comment}\n`);
        }
      }
    });

    test('the package exports the same by import and by require, as its sources do', async () => {
      const output = await evaluate(`
      import { createRequire } from 'node:module';
      const [imported, required] = [await import('${name}'), createRequire('${folder}/x.cjs')('${name}')];
      const same = Object.keys(imported).filter((each) => imported[each] === required[each]);
      console.log(JSON.stringify([same, Object.keys(required)]));`);
      const names = Object.keys((await import(name)) as object).sort();
      const [same, required] = JSON.parse(output) as string[][];
      expect(same!.sort()).toEqual(names);
      expect(required!.sort()).toEqual(names);
    });

    test('the package imports only required dependencies and peers', () => {
      const { dependencies, peerDependencies, peerDependenciesMeta } = manifestOf(name);
      const everybody = Object.keys({ ...dependencies, ...peerDependencies }).filter(
        (each) => peerDependenciesMeta?.[each]?.optional !== true,
      );
      const files = ['index.cjs'];
      const wanted = new Set<string>();
      for (const file of files) {
        const code = readFileSync(join(installed(name), 'dist/code', file), 'utf8');
        for (const [, specifier] of code.matchAll(/^var [\w$]+ = (?:require\(|hostPackages\[)'([^']+)'/gm)) {
          if (!specifier!.startsWith('.')) wanted.add(specifier!.replace(/^(nestjs-payment-\w+)\/.*/, '$1'));
          else if (!files.includes(specifier!.slice(2))) files.push(specifier!.slice(2));
        }
      }
      expect(wanted.has('@nestjs/common')).toBe(true);
      expect([...wanted].filter((each) => ![...everybody, ...builtins].includes(each))).toEqual([]);
    });

    test('both packages have the same version', () => {
      expect([manifestOf(name).version, SANDBOX_VERSION]).toEqual([VERSION, VERSION]);
    });
  });

  test('the package has the schemas of the events where other languages and tools find them', async () => {
    const output = await evaluate(`
      import { createRequire } from 'node:module';
      const found = createRequire('${folder}/x.cjs')('nestjs-payment-acceptance/schemas/payment.succeeded.json');
      const file = import.meta.resolve('nestjs-payment-acceptance/schemas/asyncapi.json');
      console.log(JSON.stringify([found.title, file.split('/').slice(-3).join('/')]));`);
    expect(JSON.parse(output)).toEqual(['payment.succeeded', 'nestjs-payment-acceptance/schemas/asyncapi.json']);
  });

  test.each(['import', 'require'])('the packages take payments without TypeORM installed, by %s', async (door) => {
    const without = mkdtempSync(join(tmpdir(), 'packages-without-typeorm-'));
    const database = await createTestDatabase();
    try {
      const link = (name: string): void => {
        mkdirSync(dirname(join(without, 'node_modules', name)), { recursive: true });
        symlinkSync(join(root, 'node_modules', name), join(without, 'node_modules', name));
      };
      for (const name of readdirSync(join(root, 'node_modules'))) {
        if (!/^(nestjs-payment-.*|typeorm.*|@nestjs)$/.test(name)) link(name);
      }
      for (const name of readdirSync(join(root, 'node_modules/@nestjs')))
        if (name !== 'typeorm') link(`@nestjs/${name}`);
      for (const name of names) cpSync(installed(name), join(without, 'node_modules', name), { recursive: true });
      cpSync(join(root, 'test/packages/without-typeorm.mjs'), join(without, 'host.mjs'));
      const { stdout } = await promisify(execFile)(process.execPath, ['host.mjs'], {
        cwd: without,
        env: { ...process.env, NODE_OPTIONS: '', DATABASE_URL: database.url, DOOR: door },
      });
      expect(stdout.trim()).toBe('paid');
    } finally {
      rmSync(without, { recursive: true });
      await database.drop();
    }
  });

  test('the package accepts and refuses the same databases as its sources', async () => {
    const server = { version: '8.0.36', mode: 'STRICT_TRANS_TABLES' };
    for (const [type, refused] of [
      ['mariadb', 'Its server is "8.0.36"'],
      ['mysql', 'Its server is "8.0.36"'],
      ['sqljs', 'share one connection'],
    ] as const) {
      const connection = {
        query: (_text: string, _values: unknown, done: (error: null, rows: unknown) => void) => done(null, [server]),
        release: () => undefined,
      };
      const createPool = () => ({
        config: { connectionConfig: {} },
        getConnection: (done: (error: null, given: object) => void) => done(null, connection),
        end: (done: () => void) => done(),
        on: () => undefined,
      });
      const driver = { mysql: { createPool }, createConnectionOptions: () => ({}) };
      const dataSource = { options: { type }, driver, isInitialized: true };
      const tried = acceptance.migratePaymentAcceptance(dataSource);
      const failure: unknown = await tried.catch((error: unknown) => error);
      const output = await evaluate(`
      import { migratePaymentAcceptance } from 'nestjs-payment-acceptance';
      const query = (_text, _values, done) => done(null, [${JSON.stringify(server)}]);
      const connection = { query, release: () => undefined };
      const getConnection = (done) => done(null, connection);
      const pool = { config: { connectionConfig: {} }, getConnection, end: (done) => done(), on: () => undefined };
      const driver = { mysql: { createPool: () => pool }, createConnectionOptions: () => ({}) };
      const dataSource = { options: { type: '${type}' }, driver, isInitialized: true };
      await migratePaymentAcceptance(dataSource).catch(({ message }) => console.log(message));`);
      expect(output.trim()).toBe((failure as Error).message);
      expect(output).toContain(refused);
    }
  });

  const builtins = builtinModules.map((name) => `node:${name}`);

  test('an error names the line of the package that throws it, and with source maps the line of the sources', async () => {
    await run(process.execPath, [join(root, 'test/hosts/checks/stack.mjs')], folder);
  });

  test('importing the package takes little more time than importing its peers', async () => {
    await run(process.execPath, [join(root, 'test/hosts/checks/import-time.mjs')], folder);
  });

  test('a second copy of a shared package is refused with an explanation, for import and require', async () => {
    const [linked, app] = ['linked', 'linking'].map((name) => join(folder, name)) as [string, string];
    cpSync(installed('nestjs-payment-acceptance'), linked, { recursive: true });
    for (const home of [linked, app]) mkdirSync(join(home, 'node_modules/@nestjs'), { recursive: true });
    for (const name of readdirSync(join(folder, 'node_modules'))) {
      if (name === '@nestjs' || name.startsWith('nestjs-payment-')) continue;
      symlinkSync(join(root, 'node_modules', name), join(linked, 'node_modules', name));
    }
    for (const name of readdirSync(join(root, 'node_modules/@nestjs'))) {
      symlinkSync(join(root, 'node_modules/@nestjs', name), join(linked, 'node_modules/@nestjs', name));
    }
    symlinkSync(linked, join(app, 'node_modules/nestjs-payment-acceptance'));
    mkdirSync(join(app, 'node_modules/typeorm'));
    const use = 'PaymentAcceptanceModule.forRoot({ shops: {} });';
    for (const args of [
      ['--input-type=module', '-e', `import { PaymentAcceptanceModule } from 'nestjs-payment-acceptance'; ${use}`],
      ['-e', `const { PaymentAcceptanceModule } = require('nestjs-payment-acceptance'); ${use}`],
    ]) {
      await expect(run(process.execPath, args, app)).rejects.toThrow(
        'typeorm is installed twice, for the application in',
      );
    }
  });

  test('the program helps where no package that it needs is installed yet', async () => {
    const lone = mkdtempSync(join(tmpdir(), 'lone-'));
    try {
      const copy = join(lone, 'node_modules/nestjs-payment-acceptance');
      cpSync(installed('nestjs-payment-acceptance'), copy, { recursive: true });
      writeFileSync(join(lone, 'package.json'), '{"dependencies":{"@nestjs/common":"^12"}}');
      const program = join(copy, 'dist/esm/cli/main.js');
      expect(await run(process.execPath, [program, 'init'], lone)).toContain('npm install');
      await expect(run(process.execPath, [program, 'statu'], lone)).rejects.toThrow('Unknown command "statu"');
      const missing = 'Run payment-acceptance init.';
      await expect(run(process.execPath, [program, 'status'], lone)).rejects.toThrow(missing);
    } finally {
      rmSync(lone, { recursive: true });
    }
  });

  test('the sandbox package has a program', async () => {
    const file = join(installed('nestjs-payment-sandbox'), 'dist/esm/cli/main.js');
    expect(await run(process.execPath, [file, '--help'], folder)).toContain('Usage: nestjs-payment-sandbox');
    expect(packed.get('nestjs-payment-sandbox')!.files.map(({ path }) => path)).toContain('Dockerfile');
    await expect(run(process.execPath, [file, '--port', 'any'], folder)).rejects.toThrow('from 0 to 65535, not "any"');
  });
});
