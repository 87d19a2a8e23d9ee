import { transformSync } from '@swc/core';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { freePort } from '../../../scripts/lib/free-port.mjs';
import { until } from '../../support/until.js';

const FOLDER = resolve(import.meta.dirname, '../handlers');
/** Inside the checkout, so that the packages are found. */
const BUILT = resolve(import.meta.dirname, '../../../dist/handlers');

/** What runs a handler, and how its presence shows. */
const RUNTIMES = {
  php: {
    probe: ['php', '--version'],
    command: (file: string, port: number) => ['php', '-S', `127.0.0.1:${port}`, file],
  },
  python: { probe: ['python3', '-c', 'import flask, django'], command: (file: string) => ['python3', file] },
  node: { probe: ['node', '--version'], command: (file: string) => ['node', built(file)] },
  go: { probe: ['go', 'version'], command: (file: string) => ['go', 'run', file] },
};
export type Language = keyof typeof RUNTIMES;

/** Debian's own Python has Debian's packages, where another comes first. Asked for once a language. */
const paths = new Map<Language, string | undefined>();

/** The PATH on which handlers of the language run; `undefined` if there is none. */
function pathFor(language: Language): string | undefined {
  if (!paths.has(language)) {
    const [program = '', ...args] = RUNTIMES[language].probe;
    const path = process.env['PATH'] ?? '';
    const runs = (PATH: string): boolean => spawnSync(program, args, { env: { ...process.env, PATH } }).status === 0;
    paths.set(language, [path, `/usr/bin:${path}`].find(runs));
  }
  return paths.get(language);
}

/** Why handlers of the language cannot run here; `undefined` if they can. */
export function missing(language: Language): string | undefined {
  return pathFor(language) === undefined ? `"${RUNTIMES[language].probe.join(' ')}" fails here` : undefined;
}

/** A handler of postbacks as people publish them, in its own language, on a port of its own. */
export class ForeignHandler {
  private readonly folder = mkdtempSync(join(tmpdir(), 'handler-'));
  private child: ChildProcess | undefined;
  private port = 0;

  /**
   * @param file as `php/form-400.php`
   * @param settings what it sells, and the token of its shop
   */
  constructor(
    private readonly file: string,
    private readonly settings: { readonly AMOUNT: string; readonly TOKEN: string },
  ) {}

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** What the handler has noted of order `o-1`: the Status, or nothing. */
  noted(): string {
    try {
      return readFileSync(join(this.folder, 'paid'), 'utf8');
    } catch {
      return '';
    }
  }

  /** @param isFixed whether its author has done what the advice says */
  async start(isFixed = false): Promise<void> {
    this.port ||= await freePort();
    const language = this.file.split('/')[0] as Language;
    const [program = '', ...args] = RUNTIMES[language].command(join(FOLDER, this.file), this.port);
    const env = {
      ...process.env,
      ...this.settings,
      PATH: pathFor(language),
      PORT: `${this.port}`,
      PAID: join(this.folder, 'paid'),
      FIXED: isFixed ? '1' : '',
    };
    this.child = spawn(program, args, { env, stdio: 'ignore', detached: true });
    await until(() => accepts(this.port), Boolean, 60_000);
  }

  async stop(): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (!child?.pid || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    process.kill(-child.pid, 'SIGKILL'); // `go run` has a child
    await ended;
  }

  async close(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Decorators need a compiler. */
function built(file: string): string {
  if (!file.endsWith('.ts')) return file;
  const { code } = transformSync(readFileSync(file, 'utf8'), {
    jsc: {
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
      target: 'es2022',
    },
    module: { type: 'es6' },
  });
  mkdirSync(BUILT, { recursive: true });
  const target = join(BUILT, `${basename(file, '.ts')}.mjs`);
  writeFileSync(target, code);
  return target;
}

/** Whether something listens there. */
function accepts(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1', () => done(true));
    socket.on('error', () => done(false)).on('connect', () => socket.destroy());
  });
}
