import { createHash } from 'node:crypto';
import { realpathSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Two sandboxes writing one journal would lose each other's state. The lock is a listening local socket, so a killed
 * process leaves no lock, even if its process id is reused. Returns what releases it.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  // Includes the user, because one user cannot remove a socket that another user's killed process left behind.
  const key = `${process.getuid?.() ?? ''}:${realpathSync(folder)}`;
  const name = `payment-sandbox-${createHash('sha256').update(key).digest('hex').slice(0, 16)}`;
  const address = process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : join(tmpdir(), `${name}.sock`);
  let server = await listen(address);
  if (!server && !(await isAlive(address))) {
    rmSync(address, { force: true }); // left behind by a kill
    server = await listen(address);
  }
  if (!server)
    throw new Error(
      `The folder ${folder} is in use by another sandbox: stop that one, or choose another folder (--data, SANDBOX_DATA)`,
    );
  const held = server;
  held.unref();
  return () => new Promise((resolve) => held.close(() => resolve()));
}

function listen(address: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
    );
    server.listen(address, () => resolve(server));
  });
}

function isAlive(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
