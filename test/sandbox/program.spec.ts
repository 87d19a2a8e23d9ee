import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort } from '../../scripts/lib/free-port.mjs';
import { VERSION } from '../../libs/payment-sandbox/src/common/version.js';
import { until } from '../support/until.js';

const MAIN_TOKEN = 'sandbox-main-token-0123456789abcdef';
/** As `npm run sandbox` starts it in this repository, and as `npx nestjs-payment-sandbox` does elsewhere. */
const PROGRAMS = {
  'npm run sandbox': 'dist/apps/sandbox/main.js',
  'npx nestjs-payment-sandbox': 'libs/payment-sandbox/dist/esm/cli/main.js',
};

/** A running program and everything it has printed. */
class Running {
  printed = '';
  constructor(readonly child: ChildProcess) {
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.on('data', (chunk: Buffer) => (this.printed += chunk.toString()));
    }
  }

  prints(text: string | RegExp): Promise<string> {
    return until(
      () => new Promise<string>((done) => setImmediate(() => done(this.printed))),
      (printed) => (typeof text === 'string' ? printed.includes(text) : text.test(printed)),
      20_000,
    );
  }

  async ended(): Promise<[code: number | null, printed: string]> {
    const [code] = (this.child.exitCode === null ? await once(this.child, 'close') : [this.child.exitCode]) as [number];
    return [code, this.printed];
  }
}

describe.each(Object.entries(PROGRAMS))('%s', (_name, file) => {
  let folder: string;
  let children: ChildProcess[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sandbox-program-'));
    children = [];
  });
  afterEach(async () => {
    for (const child of children) {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
    rmSync(folder, { recursive: true });
  });

  function start(args: string[], env: Record<string, string> = {}): Running {
    const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^SANDBOX_|^SHOP_/.test(name)));
    const child = spawn(process.execPath, [resolve(file), ...args], {
      cwd: folder,
      env: { ...clean, NODE_OPTIONS: '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    return new Running(child);
  }

  test('the program prints its address, shops, tokens and folder, then each request and postback', async () => {
    const port = await freePort();
    const shopPort = await freePort();
    const program = start(['--port', String(port), '--data', 'state', '--shop-url', `http://127.0.0.1:${shopPort}`]);
    const said = await program.prints('Ready');
    expect(said.replaceAll(folder, 'FOLDER')).toMatch(
      new RegExp(
        [
          `^Sandbox: http://127.0.0.1:${port}`,
          `Console: http://127.0.0.1:${port}/sandbox`,
          'State:   in .*FOLDER/state',
          'Shops:',
          `  demo-main  token ${MAIN_TOKEN}  postbacks to http://127.0.0.1:${shopPort}/postback/payment`,
          `  demo-eu  token sandbox-eu-token-0123456789abcdef  postbacks to .*`,
          'Ready. Press Ctrl-C to stop.\n$',
        ].join('\n'),
      ),
    );
    const url = `http://127.0.0.1:${port}`;
    const create = (token: string) =>
      fetch(`${url}/api/v1/bill/create?amount=5&order_id=o-1`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
      });
    await create('72|wrong');
    await program.prints(/^\d\d:\d\d:\d\d ! POST bill\/create o-1: 401, no shop has this bearer token: .* 72\|…$/m);
    const { bill_id } = (await (await create(MAIN_TOKEN)).json()) as { bill_id: string };
    await program.prints(/^\d\d:\d\d:\d\d {3}POST bill\/create demo-main o-1: 200$/m);
    await fetch(`${url}/sandbox/bills/${bill_id}/pay`, { method: 'POST' });
    await program.prints(
      /! postback demo-main o-1 SUCCESS: .*nothing is listening at 127\.0\.0\.1:\d+: is the shop running/,
    );
    program.child.kill('SIGTERM');
    expect((await program.ended())[0]).toBe(0);
  });

  test('the program listens on the given host, and says what that opens', async () => {
    const args = ['--port', '0', '--host', '0.0.0.0', '--data', '', '--log', 'none'];
    const closed = await start(args).prints('Ready');
    expect(closed).toContain('State:   in memory');
    expect(closed).toMatch(
      /Open: {4}anyone who reaches port .* can use the API and the payer's pages\. .* only from this machine/,
    );
    const opened = start([...args, '--control-hosts', 'sandbox.test']);
    expect(await opened.prints('Ready')).toMatch(/uses the names sandbox\.test: such clients can read every token/);
  });

  test.each([
    ['an unknown option', ['--prot=1'], 2, '--help'],
    ['an address of another machine', ['--host', '192.0.2.1'], 1, '192.0.2.1 is not an address of this machine'],
    ['a time that is none', ['--port', '0', '--processing-time', 'soon'], 2, '--processing-time'],
    ['a shops file that is not there', ['--shops', 'none.json'], 2, 'none.json'],
  ])('the program refuses %s in one line', async (_what, args, status, text) => {
    const [code, printed] = await start(args).ended();
    expect([code, printed.trim().split('\n')]).toEqual([status, [expect.stringContaining(text)]]);
  });

  test('the program prints its version', async () => {
    expect(await start(['--version']).ended()).toEqual([0, `${VERSION}\n`]);
  });

  test('the program names a port that is in use, before it touches its state', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as { port: number };
    const [code, printed] = await start(['--port', String(port)]).ended();
    expect([code, printed.trim()]).toEqual([1, `Port ${port} is in use: choose another with --port or SANDBOX_PORT`]);
    holder.close();
  });
});

test('both programs have the same options', async () => {
  const helps = await Promise.all(
    Object.values(PROGRAMS).map(async (file) => {
      const program = new Running(spawn(process.execPath, [file, '--help'], { env: { PATH: process.env['PATH'] } }));
      const [code, printed] = await program.ended();
      expect(code).toBe(0);
      return printed;
    }),
  );
  const [one, other] = helps.map((text) => text.replace(/^Usage: .*/, '').replace(/(SANDBOX_DATA +).*/, '$1'));
  expect(one).toBe(other);
  expect(helps.map((text) => /^Usage: (.*) \[options\]$/m.exec(text)?.[1])).toEqual([
    'npm run sandbox --',
    'nestjs-payment-sandbox',
  ]);
});
