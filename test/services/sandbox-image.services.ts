import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../../scripts/lib/free-port.mjs';

/*
 * The Dockerfile of the sandbox where no builder and no registry of images is at hand: its own steps, in a root folder of
 * its own that holds what its base image has (Node with the libraries that it loads, /tmp), as its own user.
 */
const root = resolve(import.meta.dirname, '../..');
const USER = 1000;
/** The full path, because the program gets only the image's environment. */
const chroot = spawnSync('sh', ['-c', 'command -v chroot'], { encoding: 'utf8' }).stdout.trim();
const canChroot = process.platform === 'linux' && process.getuid?.() === 0 && chroot !== '';
const TOKEN = 'sandbox-main-token-0123456789abcdef';

/** The instructions of the last stage, and the build command of the first. */
interface Image {
  build: string;
  env: Record<string, string>;
  entrypoint: string[];
  healthcheck: string[];
  user: string;
}

function readDockerfile(): Image {
  const text = readFileSync(join(root, 'libs/payment-sandbox/Dockerfile'), 'utf8').replace(/\\\n/g, ' ');
  const [first, last] = text.split(/^FROM .*$/m).slice(1) as [string, string];
  const json = (instruction: RegExp): string[] => JSON.parse(instruction.exec(last)![1]!) as string[];
  const env = /^ENV (.*)$/m
    .exec(last)![1]!
    .split(/\s+/)
    .map((pair) => pair.split('=') as [string, string]);
  return {
    build: /^RUN (.*)$/m.exec(first)![1]!,
    env: Object.fromEntries(env),
    entrypoint: json(/^ENTRYPOINT (\[.*\])$/m),
    healthcheck: json(/^HEALTHCHECK .*CMD\s+(\[.*\])$/m),
    user: /^USER (.*)$/m.exec(last)![1]!,
  };
}

(canChroot ? describe : describe.skip)(
  `the image of the sandbox${canChroot ? '' : ' (skipped: only root can run its steps in a root folder)'}`,
  () => {
    const image = readDockerfile();
    let folder: string;
    let child: ChildProcess | undefined;
    let url: string;
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'sandbox-image-'));
      chmodSync(folder, 0o755);
      execFileSync(process.execPath, ['scripts/build.mjs', join(folder, 'packages')], { cwd: root });
      mkdirSync(join(folder, 'root/sandbox'), { recursive: true });
      execFileSync('cp', ['-r', join(folder, 'packages/payment-sandbox'), join(folder, 'root/sandbox/package')]);
      execFileSync('sh', ['-c', image.build], { cwd: join(folder, 'root/sandbox'), stdio: 'pipe' });
      putNodeInto(join(folder, 'root'));
      mkdirSync(join(folder, 'root/data'));
      chownSync(join(folder, 'root/data'), USER, USER);
      url = `http://127.0.0.1:${await freePort()}`;
    }, 300_000);
    afterAll(() => {
      child?.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    });

    const inside = ([program, ...args]: string[]) =>
      [chroot, [`--userspec=${USER}:${USER}`, join(folder, 'root'), `/bin/${program}`, ...args]] as const;

    async function start(): Promise<ChildProcess> {
      const started = spawn(...inside(image.entrypoint), {
        env: { ...image.env, SANDBOX_PORT: new URL(url).port },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      for await (const line of createInterface({ input: started.stdout })) if (line.startsWith('Ready')) break;
      return started;
    }

    test('the image serves requests, keeps its state in its volume, is not root, and stops on request', async () => {
      expect(image.user).toBe('node');
      child = await start();
      expect(readFileSync(`/proc/${child.pid}/status`, 'utf8')).toMatch(
        new RegExp(`^Uid:\\t${USER}\\t${USER}\\t`, 'm'),
      );
      const created = await fetch(`${url}/api/v1/bill/create?amount=5`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TOKEN}` },
      });
      const { bill_id } = (await created.json()) as { bill_id: string };
      expect((await fetch(`${url}/transfer/${bill_id}`)).status).toBe(200);
      child.kill('SIGTERM');
      expect(await once(child, 'exit')).toEqual([0, null]);
      child = await start();
      expect((await fetch(`${url}/sandbox/bills/${bill_id}`)).status).toBe(200);
      child.kill('SIGTERM');
      await once(child, 'exit');
    }, 60_000);

    test("the image's health check reports whether the sandbox runs", async () => {
      const [program, args] = inside(
        image.healthcheck.map((each) => each.replace('127.0.0.1:4010', new URL(url).host)),
      );
      const isWell = (): number | null => spawnSync(program, args, { env: image.env, stdio: 'inherit' }).status;
      expect(isWell()).toBe(1);
      child = await start();
      expect(isWell()).toBe(0);
      child.kill('SIGTERM');
      await once(child, 'exit');
    }, 60_000);

    test('the image adds less than 25 MB to its base image', () => {
      const [kilobytes] = execFileSync('du', ['-sk', join(folder, 'root/sandbox')], { encoding: 'utf8' }).split('\t');
      expect(Number(kilobytes)).toBeLessThan(25_000);
    });
  },
);

/** Node and the libraries that it loads, at their expected paths. */
function putNodeInto(target: string): void {
  const node = realpathSync(process.execPath);
  const libraries = execFileSync('ldd', [node], { encoding: 'utf8' }).match(/\/\S+/g) ?? [];
  for (const file of libraries) {
    mkdirSync(join(target, dirname(file)), { recursive: true });
    copyFileSync(realpathSync(file), join(target, file));
  }
  mkdirSync(join(target, 'bin'), { recursive: true });
  copyFileSync(node, join(target, 'bin/node'));
  mkdirSync(join(target, 'tmp'));
  chmodSync(join(target, 'tmp'), 0o1777);
}
