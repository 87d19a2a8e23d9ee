import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import * as acceptance from 'nestjs-payment-acceptance';
import * as sandbox from 'nestjs-payment-sandbox';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { DataSource } from 'typeorm';

const root = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'packages-'));

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
    unpackedSize: number;
    files: { path: string; size: number }[];
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

  /** Packed, and unpacked where Node finds them, with the packages of this repository around them. */
  beforeAll(async () => {
    await run(process.execPath, ['scripts/build.mjs', folder]);
    mkdirSync(join(folder, 'node_modules'));
    for (const name of readdirSync(join(root, 'node_modules'))) {
      if (!name.startsWith('nestjs-payment-')) symlinkSync(join(root, 'node_modules', name), installed(name));
    }
    for (const name of ['payment-acceptance', 'payment-sandbox']) {
      const output = await run('npm', ['pack', `./${name}`, '--json', '--loglevel=error'], folder);
      const [result] = Object.values(JSON.parse(output) as Record<string, Packed>);
      if (!result) throw new Error(output);
      packed.set(`nestjs-${name}`, result);
      mkdirSync(installed(`nestjs-${name}`));
      await run('tar', ['xzf', result.filename, '--strip-components=1', '-C', installed(`nestjs-${name}`)], folder);
    }
  }, 240_000);

  const evaluate = (program: string, ...options: string[]): Promise<string> =>
    run(process.execPath, [...options, '--input-type=module', '-e', program], folder);

  const sources: Record<string, object> = {
    'nestjs-payment-acceptance': acceptance,
    'nestjs-payment-sandbox': sandbox,
  };

  describe.each(Object.keys(sources))('%s', (name) => {
    test('is what a package should be, and its types fit its code in every way of looking for them', async () => {
      const file = join(folder, packed.get(name)!.filename);
      await run(process.execPath, ['node_modules/publint/src/cli.js', 'run', file, '--strict']);
      await run(process.execPath, ['node_modules/@arethetypeswrong/cli/dist/index.js', file]);
    });

    test('holds code, declarations and what people read, and weighs little', () => {
      const { files, unpackedSize } = packed.get(name)!;
      const paths = files.map(({ path }) => path);
      expect(paths).toEqual(expect.arrayContaining(['README.md', 'LICENSE', 'CHANGELOG.md', 'package.json']));
      const rest = paths.filter((path) => !/^(\w+\.md|LICENSE|Dockerfile|package\.json)$/.test(path));
      expect(rest.filter((path) => !/^dist\/(code\/[\w-]+\.cjs(\.map)?|(esm|cjs)\/.*)$/.test(path))).toEqual([]);
      expect(rest.filter((path) => /spec|tsbuildinfo|[^d]\.ts$/.test(path))).toEqual([]);
      expect(unpackedSize).toBeLessThan(850_000);
    });

    test('gives the same by import and by require: what its sources export', async () => {
      const output = await evaluate(`
      import { createRequire } from 'node:module';
      const [imported, required] = [await import('${name}'), createRequire('${folder}/x.cjs')('${name}')];
      const same = Object.keys(imported).filter((each) => imported[each] === required[each]);
      console.log(JSON.stringify([same, Object.keys(required)]));`);
      const names = Object.keys(sources[name]!).sort();
      const [same, required] = JSON.parse(output) as string[][];
      expect(same!.sort()).toEqual(names);
      expect(required!.sort()).toEqual(names);
    });

    test('needs, to be imported, only what it says that everybody needs', () => {
      const { dependencies, peerDependencies, peerDependenciesMeta } = manifestOf(name);
      const everybody = Object.keys({ ...dependencies, ...peerDependencies }).filter(
        (each) => peerDependenciesMeta?.[each]?.optional !== true,
      );
      const files = ['index.cjs'];
      const wanted = new Set<string>();
      for (const file of files) {
        const code = readFileSync(join(installed(name), 'dist/code', file), 'utf8');
        for (const [, specifier] of code.matchAll(/^var [\w$]+=(?:require\(|nest\[)'([^']+)'/gm)) {
          if (!specifier!.startsWith('.')) wanted.add(specifier!);
          else if (!files.includes(specifier!.slice(2))) files.push(specifier!.slice(2));
        }
      }
      expect(wanted.has('@nestjs/common')).toBe(true);
      expect([...wanted].filter((each) => ![...everybody, ...builtins].includes(each))).toEqual([]);
    });

    test('tells the file and the line of the sources where an error comes from', () => {
      const { files } = packed.get(name)!;
      for (const { path } of files.filter((file) => file.path.endsWith('.map'))) {
        const map = JSON.parse(readFileSync(join(installed(name), path), 'utf8')) as { sources: string[] };
        const own = map.sources.filter((source) => !source.includes('node_modules/tslib'));
        expect(own.filter((source) => !/^\.\.\/\.\.\/src\/.*\.ts$/.test(source))).toEqual([]);
      }
    });

    test('has the version of the other', () => {
      expect(manifestOf(name).version).toBe(manifestOf('nestjs-payment-acceptance').version);
    });
  });

  test('takes and refuses the same databases as its sources', async () => {
    const server = { version: '8.0.36', mode: 'STRICT_TRANS_TABLES' };
    for (const [type, refused] of [
      ['mariadb', 'Its server is "8.0.36"'],
      ['mysql', 'Its server is "8.0.36"'],
      ['sqljs', 'share one connection'],
    ] as const) {
      const runner = { connect: () => undefined, query: () => [server], release: () => undefined };
      const dataSource = { options: { type }, driver: {}, createQueryRunner: () => runner };
      const tried = acceptance.migratePaymentAcceptance(dataSource as unknown as DataSource);
      const failure: unknown = await tried.catch((error: unknown) => error);
      const output = await evaluate(`
      import { migratePaymentAcceptance } from 'nestjs-payment-acceptance';
      const runner = { connect: () => undefined, query: () => [${JSON.stringify(server)}], release: () => undefined };
      await migratePaymentAcceptance({ options: { type: '${type}' }, driver: {}, createQueryRunner: () => runner }).catch(({ message }) => console.log(message));`);
      expect(output.trim()).toBe((failure as Error).message);
      expect(output).toContain(refused);
    }
  });

  const builtins = builtinModules.map((name) => `node:${name}`);

  test('an error of the package points at its TypeScript source, at the line where it comes from', async () => {
    const source = 'operations/payment-health.indicator.ts'; // behind many statements of several lines
    const text = readFileSync(join(root, 'libs/payment-acceptance/src', source), 'utf8');
    const line = text.split('\n').findIndex((each) => each.includes('= this.ofThisProcess(')) + 1;
    const output = await evaluate(
      `import { PaymentHealthIndicator } from 'nestjs-payment-acceptance';
     await new PaymentHealthIndicator().isHealthy('x').catch(({ stack }) => console.log(stack));`,
      '--enable-source-maps',
    );
    expect(output).toContain('PaymentHealthIndicator.isHealthy (');
    expect(output).toContain(`nestjs-payment-acceptance/src/${source}:${line}:`);
  });

  test('importing it adds little to what its peers take', async () => {
    await run(process.execPath, [join(root, 'test/hosts/checks/import-time.mjs')], folder);
  });

  test('the sandbox is a program', async () => {
    const file = join(installed('nestjs-payment-sandbox'), 'dist/esm/cli/main.js');
    expect(await run(process.execPath, [file, '--help'], folder)).toContain('Usage: nestjs-payment-sandbox');
    expect(packed.get('nestjs-payment-sandbox')!.files.map(({ path }) => path)).toContain('Dockerfile');
    await expect(run(process.execPath, [file, '--port', 'any'], folder)).rejects.toThrow('from 0 to 65535, not "any"');
  });
});
