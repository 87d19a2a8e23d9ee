import { randomInt } from 'node:crypto';
import net from 'node:net';

export const host = '127.0.0.1';

/**
 * A port that nobody listens on, below those that the system gives to connections (from 32768 on, at the lowest): one of
 * these could be taken by any connection before its server is there.
 */
export async function freePort() {
  for (;;) {
    const port = randomInt(10_000, 32_768);
    const server = net.createServer();
    /** @type {boolean} */
    const free = await new Promise((resolve) => {
      server.once('error', () => resolve(false)).listen(port, host, () => resolve(true));
    });
    if (!free) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

/**
 * So many different ones.
 * @param {number} count
 */
export async function freePorts(count) {
  /** @type {Set<number>} */
  const ports = new Set();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}
