import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { freePort } from '../../scripts/lib/free-port.mjs';
import { type Command, CommandProject } from '../support/command-project.js';

let project: CommandProject;
let env: { SHOP_PORT: string; SANDBOX_PORT: string };
let started: Command[];

describe('start', () => {
  beforeAll(() => {
    project = new CommandProject();
  });

  beforeEach(async () => {
    env = { SHOP_PORT: String(await freePort()), SANDBOX_PORT: String(await freePort()) };
    started = [];
  });

  afterEach(async () => {
    // Nothing to do, unless a test failed on its way.
    await Promise.all(started.map((command) => command.stop('SIGKILL')));
  });

  afterAll(() => {
    project.remove();
  });

  describe('npm start', () => {
    it('npm start builds, starts everything, and stops all of it at SIGTERM', async () => {
      const command = await start();
      expect(command.output).toMatch(/Shop: .*\nSandbox: .*\nReady/);
      const url = await get(env.SHOP_PORT);
      await expect(query(url, 'CREATE TABLE kept AS SELECT 7 AS number')).resolves.toBeDefined();

      await expect(command.stop()).resolves.toBe(0);
      await expect(get(env.SHOP_PORT)).rejects.toThrow();
      await expect(get(env.SANDBOX_PORT)).rejects.toThrow();
      await expect(query(url, 'SELECT 1')).rejects.toThrow();
    });

    it('npm start keeps its data over kill -9, and takes over what that leaves behind', async () => {
      const killed = await start();
      const server = databaseServer();
      const keeper = parentOf(server);
      // All at once, and only the server lives on.
      for (const pid of [...childrenOf(keeper).filter((child) => child !== server), keeper, killed.process.pid]) {
        process.kill(pid as number, 'SIGKILL');
      }
      expect(isRunning(server)).toBe(true);

      const command = await start();
      expect(isRunning(server)).toBe(false);
      expect(databaseServer()).not.toBe(server);
      await expect(query(await get(env.SHOP_PORT), 'SELECT number FROM kept')).resolves.toEqual([{ number: 7 }]);
      await command.stop();
    });

    it('npm start recovers from an interrupted first start, and from a reused process id', async () => {
      const home = project.path('.data/postgres');
      renameSync(`${home}/data`, `${home}/data.partial`);
      const first = await start();
      await first.stop();
      expect(existsSync(`${home}/data.partial`)).toBe(false);

      writeFileSync(`${home}/data/postmaster.pid`, `${process.pid}\n${home}/data\n`);
      const second = await start();
      await second.stop();
    });

    it('npm start rebuilds deleted files, and deletes those without a source', async () => {
      rmSync(project.path('dist/apps/shop/main.js'));
      writeFileSync(project.path('dist/apps/shop/stale.js'), '');
      const command = await start();
      expect(existsSync(project.path('dist/apps/shop/stale.js'))).toBe(false);
      await command.stop();
    });

    it('npm start exits with the code of a server that exits, and stops the others', async () => {
      const command = await start();
      await expect(get(env.SANDBOX_PORT, '/exit/7')).rejects.toThrow();
      await expect(command.ended).resolves.toBe(7);
      await expect(get(env.SHOP_PORT)).rejects.toThrow();
    });

    it.each(['SHOP_PORT', 'SANDBOX_PORT'] as const)(
      'npm start names %s if that port is in use, and starts nothing',
      async (name) => {
        const holder = createServer().listen(Number(env[name]), '127.0.0.1');
        await once(holder, 'listening');
        const command = project.start('start.mjs', env);
        await expect(command.ended).resolves.toBe(1);
        expect(command.output.trim().split('\n')).toEqual([expect.stringContaining(`set ${name}`)]);
        holder.close();
      },
    );
  });

  describe('npm run shop', () => {
    it('npm run shop shares the database of a running npm start', async () => {
      const all = await start();
      const other = { ...env, SHOP_PORT: String(await freePort()) };
      const shop = project.start('shop.mjs', other);
      await shop.prints(/^Ready/m);
      expect(await get(other.SHOP_PORT)).toBe(await get(env.SHOP_PORT));

      await shop.stop();
      await expect(query(await get(env.SHOP_PORT), 'SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
      await all.stop();
    });
  });

  describe('a temporary database', () => {
    it('a temporary database is removed with its folder when its command is killed', async () => {
      const command = project.start('test-database.mjs', env);
      await command.prints(/^export TEST_DATABASE_URL=/m);
      const client = new pg.Client(/=(\S+)/.exec(command.output)?.[1]);
      const lost = new Promise((resolve) => client.on('error', resolve));
      await client.connect();
      const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
      const home = dirname(rows[0]!.data_directory);
      expect(existsSync(home)).toBe(true);

      await command.stop('SIGKILL');
      await lost;
      for (const end = Date.now() + 5_000; existsSync(home) && Date.now() < end;) await setImmediate();
      expect(existsSync(home)).toBe(false);
    });
  });

  async function start(): Promise<Command> {
    const command = project.start('start.mjs', env);
    started.push(command);
    await command.prints(/^Ready/m);
    return command;
  }

  async function get(port: string, path = '/'): Promise<string> {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return response.text();
  }

  async function query(url: string, text: string): Promise<unknown[]> {
    const client = new pg.Client(url);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  }

  function databaseServer(): number {
    return Number.parseInt(project.read('.data/postgres/data/postmaster.pid'), 10);
  }

  /** An ended process stays in the table until its new parent has looked. */
  function isRunning(pid: number): boolean {
    return existsSync(`/proc/${pid}`) && !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  }

  function childrenOf(pid: number): number[] {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  }

  function parentOf(pid: number): number {
    return Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  }
});
