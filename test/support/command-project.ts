import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';

const repository = resolve(import.meta.dirname, '../..');

/** A server that shows its database, and exits with the code that a request names. */
const fakeApp = (port: string): string => `
  import { createServer } from 'node:http';
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/exit/')) process.exit(Number(request.url.slice(6)));
    response.end(process.env['DATABASE_URL'] ?? '');
  });
  server.listen(Number(process.env['${port}']), '127.0.0.1');
`;

/** The project's commands with two tiny apps, in a temporary folder, where they can do no harm. */
export class CommandProject {
  readonly folder = mkdtempSync(join(tmpdir(), 'commands-'));

  constructor() {
    chmodSync(this.folder, 0o755); // the database may run as another user
    for (const name of ['scripts', 'package.json', 'package-lock.json', 'tsconfig.base.json']) {
      cpSync(join(repository, name), join(this.folder, name), { recursive: true });
    }
    symlinkSync(join(repository, 'node_modules'), join(this.folder, 'node_modules'));
    for (const library of ['libs/payment-acceptance', 'libs/payment-console', 'libs/payment-sandbox']) {
      this.workspace(library, 'tsconfig.build.json', 'export const nothing = 0;', 'index.ts');
    }
    this.workspace('apps/shop', 'tsconfig.app.json', fakeApp('SHOP_PORT'), 'main.ts');
    this.workspace('apps/sandbox', 'tsconfig.app.json', fakeApp('SANDBOX_PORT'), 'main.ts');
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  read(name: string): string {
    return readFileSync(this.path(name), 'utf8');
  }

  start(script: string, env: NodeJS.ProcessEnv): Command {
    return new Command(join(this.folder, 'scripts', script), { ...process.env, DATABASE_URL: '', ...env });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private workspace(folder: string, config: string, source: string, file: string): void {
    mkdirSync(this.path(`${folder}/src`), { recursive: true });
    cpSync(join(repository, folder, config), this.path(`${folder}/${config}`));
    writeFileSync(this.path(`${folder}/src/${file}`), source);
  }
}

export class Command {
  readonly process: ChildProcessByStdio<null, Readable, Readable>;
  readonly ended: Promise<number | NodeJS.Signals>;
  output = '';

  constructor(script: string, env: NodeJS.ProcessEnv) {
    this.process = spawn(process.execPath, [script], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.process.stdout.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    this.process.stderr.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    this.ended = once(this.process, 'close').then(
      ([code, signal]: unknown[]) => (code ?? signal) as number | NodeJS.Signals,
    );
  }

  /** Resolves with the line; rejects with all output if the command ends without printing it. */
  async prints(line: RegExp): Promise<void> {
    const printed = new Promise<void>((done) => {
      const look = (): void => {
        if (line.test(this.output)) done();
      };
      this.process.stdout.on('data', look);
      look();
    });
    const end = this.ended.then((code) => {
      throw new Error(`ended with ${code}:\n${this.output}`);
    });
    await Promise.race([printed, end]);
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | NodeJS.Signals> {
    this.process.kill(signal);
    return this.ended;
  }
}
