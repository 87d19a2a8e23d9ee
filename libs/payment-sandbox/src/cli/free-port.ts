import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const MAX_TRIES = 20;
const PAUSE_MS = 100;

/** A program that was just stopped takes a moment to release its port. */
export async function waitUntilFree(port: number, host: string): Promise<void> {
  for (let tries = MAX_TRIES; ; tries -= 1) {
    const error = await tryPort(port, host);
    if (!error) return;
    if (error.code === 'EADDRINUSE') {
      if (tries > 0) await sleep(PAUSE_MS);
      else throw new Error(`Port ${port} is in use: choose another with --port or SANDBOX_PORT`);
    } else if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') {
      throw new Error(`${host} is not an address of this machine: choose another with --host or SANDBOX_HOST`);
    } else throw new Error(`Port ${port} of ${host} cannot be used: ${error.message}`, { cause: error });
  }
}

function tryPort(port: number, host: string): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', resolve);
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}
