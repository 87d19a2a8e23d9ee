import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../../scripts/lib/free-port.mjs';

/** A broker process for one test, with a folder and ports of its own. */
export interface OwnServer {
  readonly port: number;
  /** Kills the process, like a power failure. */
  kill(): Promise<void>;
  /** Restarts it on the same folder. */
  start(): Promise<void>;
  /** Stops it and deletes its folder. */
  close(): Promise<void>;
}

/** The first of these programs that is installed. */
export function programOf(...files: string[]): string | undefined {
  return files.find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

type Command = (folder: string, port: number, further: number) => { args: string[]; env?: Record<string, string> };

export const natsServer: Command = (folder, port) => ({
  args: ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', folder],
});

/** A single node, separate from any other on the machine; its start script replaces itself by the broker. */
export const rabbitMqServer: Command = (folder, port, further) => {
  writeFileSync(join(folder, 'rabbitmq.conf'), `listeners.tcp.1 = 127.0.0.1:${port}\nlog.file = false\n`);
  return {
    args: [],
    env: {
      HOME: folder,
      RABBITMQ_NODENAME: `payments${port}@localhost`,
      RABBITMQ_NODE_PORT: String(port),
      RABBITMQ_DIST_PORT: String(further),
      RABBITMQ_MNESIA_BASE: join(folder, 'mnesia'),
      RABBITMQ_LOG_BASE: join(folder, 'log'),
      RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq.conf'),
      RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
      RABBITMQ_PID_FILE: join(folder, 'pid'),
      RABBITMQ_ALLOW_INPUT: '1',
      RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-noinput',
    },
  };
};

export async function startOwnServer(
  program: string,
  command: Command,
  answers: (url: string) => Promise<unknown>,
  scheme: string,
): Promise<OwnServer & { readonly url: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'payments-broker-'));
  const [port = 0, further = 0] = await freePorts(2);
  const url = `${scheme}://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;
  async function kill(): Promise<void> {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
  async function start(): Promise<void> {
    const { args, env = {} } = command(folder, port, further);
    const running = spawn(program, args, { env: { ...process.env, NODE_OPTIONS: '', ...env }, stdio: 'ignore' });
    child = running;
    const deadline = Date.now() + 60_000;
    for (;;) {
      if (running.exitCode !== null) throw new Error(`${program} ended with code ${running.exitCode}.`);
      try {
        await answers(url);
        return;
      } catch (error) {
        if (Date.now() > deadline) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }
  async function close(): Promise<void> {
    await kill();
    rmSync(folder, { recursive: true, force: true });
  }
  try {
    await start();
  } catch (error) {
    await close();
    throw error;
  }
  return { port, url, kill, start, close };
}
