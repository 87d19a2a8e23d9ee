import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadProblem, peerProblems } from './check-peers.js';
import { manifestIn } from './installed-package.js';
import { ownPackage } from './own-package.js';

const OWN = manifestIn(join(import.meta.dirname, '../..'))!;

/** What an application of NestJS 11 has installed. */
const FITTING = {
  '@nestjs/axios': '4.0.1',
  '@nestjs/common': '11.1.6',
  '@nestjs/config': '4.0.2',
  '@nestjs/core': '11.1.6',
  '@nestjs/event-emitter': '3.0.1',
  '@nestjs/typeorm': '11.0.0',
  axios: '1.7.0',
  'class-transformer': '0.5.1',
  'class-validator': '0.14.2',
  'reflect-metadata': '0.2.2',
  rxjs: '7.8.1',
  typeorm: '0.3.28',
};

describe('check of the peers', () => {
  let folder: string;
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'peers-')));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function install(home: string, name: string, manifest: object): string {
    const place = join(folder, home, 'node_modules', name);
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, 'package.json'), JSON.stringify({ name, ...manifest }));
    writeFileSync(join(place, 'index.js'), '');
    return place;
  }

  /** Problems of an application with these packages, and ours among them. */
  function problemsWith(versions: Record<string, string | object | undefined>): string[] {
    const all: typeof versions = { ...FITTING, ...versions };
    for (const [name, version] of Object.entries(all)) {
      if (version !== undefined) install('host', name, typeof version === 'object' ? version : { version });
    }
    const own = install('host', 'nestjs-payment-acceptance', OWN);
    return peerProblems({ folder: own, manifest: OWN }, [join(folder, 'host')]);
  }

  test('finds nothing where all fit', () => {
    expect(problemsWith({})).toEqual([]);
  });

  test('finds nothing wrong with what this repository has installed, from the sources', () => {
    const own = ownPackage();
    expect(own?.manifest.name).toBe('nestjs-payment-acceptance');
    expect(peerProblems(own!, [process.cwd()])).toEqual([]);
  });

  test('names what is installed, what is needed, and the command', () => {
    expect(problemsWith({ '@nestjs/common': '10.4.1', '@nestjs/core': '10.4.1' })).toEqual([
      '@nestjs/common 10.4.1 is installed, needed is ^11.0.0 || ^12.0.0: npm install @nestjs/common@12',
      '@nestjs/core 10.4.1 is installed, needed is ^11.0.0 || ^12.0.0: npm install @nestjs/core@12',
    ]);
  });

  test('asks for the versions of companions that go with the NestJS that is installed', () => {
    expect(problemsWith({ '@nestjs/axios': '3.1.0', typeorm: '0.2.45' })).toEqual([
      '@nestjs/axios 3.1.0 is installed, needed is ^4.0.0 || ^12.0.0: npm install @nestjs/axios@4',
      'typeorm 0.2.45 is installed, needed is ^0.3.20 || ^1.0.0: npm install typeorm@0.3',
    ]);
  });

  test('finds a companion that does not take the NestJS that is installed', () => {
    const peerDependencies = { '@nestjs/common': '^10.0.0 || ^11.0.0' };
    expect(
      problemsWith({
        '@nestjs/common': '12.5.1',
        '@nestjs/core': '12.5.1',
        '@nestjs/axios': { version: '4.0.1', peerDependencies },
      }),
    ).toEqual(['@nestjs/axios 4.0.1 does not go with @nestjs/common 12.5.1: npm install @nestjs/axios@12']);
  });

  test("finds what is missing, and writes the application's package manager", () => {
    mkdirSync(join(folder, 'host'));
    writeFileSync(join(folder, 'host/pnpm-lock.yaml'), '');
    expect(problemsWith({ '@nestjs/axios': undefined })).toEqual([
      '@nestjs/axios is missing: pnpm add @nestjs/axios@4',
    ]);
  });

  test('finds the second copy behind a link to a folder', () => {
    for (const [name, version] of Object.entries(FITTING)) {
      install('host', name, { version });
      install('elsewhere', name, { version });
    }
    const own = join(folder, 'elsewhere/nestjs-payment-acceptance');
    mkdirSync(own);
    writeFileSync(join(own, 'package.json'), JSON.stringify(OWN));
    symlinkSync(own, join(folder, 'host/node_modules/nestjs-payment-acceptance'));
    const [problem, ...more] = peerProblems({ folder: own, manifest: OWN }, [join(folder, 'host')]);
    expect(more).toEqual([]);
    expect(problem).toBe(
      '@nestjs/common, @nestjs/core, @nestjs/typeorm, typeorm are there twice, for the application in ' +
        `${folder}/host/node_modules/@nestjs/common, for nestjs-payment-acceptance in ` +
        `${folder}/elsewhere/node_modules/@nestjs/common; both must have one copy: nestjs-payment-acceptance is linked to ${own}: ` +
        'install its packed file, or from the registry',
    );
    // Started elsewhere, it cannot be told whose application that is.
    expect(peerProblems({ folder: own, manifest: OWN }, [folder])).toEqual([]);
  });

  test('does not compare with an application that has another copy of this package', () => {
    expect(problemsWith({})).toEqual([]);
    for (const [name, version] of Object.entries(FITTING)) install('other', name, { version });
    install('other', 'nestjs-payment-acceptance', OWN);
    const own = join(folder, 'host/node_modules/nestjs-payment-acceptance');
    expect(peerProblems({ folder: own, manifest: OWN }, [join(folder, 'other')])).toEqual([]);
  });

  test('takes the links of pnpm for what they are', () => {
    const store = join(folder, 'store/node_modules');
    mkdirSync(store, { recursive: true });
    mkdirSync(join(folder, 'host/node_modules/@nestjs'), { recursive: true });
    for (const [name, version] of Object.entries(FITTING)) install('store', name, { version });
    const own = install('store', 'nestjs-payment-acceptance', OWN);
    for (const name of ['nestjs-payment-acceptance', '@nestjs/common', '@nestjs/core', 'typeorm']) {
      symlinkSync(join(store, name), join(folder, 'host/node_modules', name));
    }
    expect(peerProblems({ folder: own, manifest: OWN }, [join(folder, 'host')])).toEqual([]);
  });

  test.each([
    ['MODULE_NOT_FOUND', "Cannot find module '@nestjs/axios'\nRequire stack:\n- /a/b.cjs"],
    ['ERR_MODULE_NOT_FOUND', "Cannot find package '@nestjs/axios' imported from /a/b.js"],
  ])('explains %s', (code, message) => {
    expect(loadProblem(Object.assign(new Error(message), { code }))).toMatch(
      /^@nestjs\/axios is missing: npm install @nestjs\/axios@12$/,
    );
    expect(loadProblem(Object.assign(new Error(message.replace('@nestjs/axios', './mine')), { code }))).toBeUndefined();
    expect(loadProblem(new Error(message))).toBeUndefined();
  });
});
