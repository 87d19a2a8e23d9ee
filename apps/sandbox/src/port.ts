import { createServer } from 'node:net';

/** A port from the environment; says which variable is wrong. */
export function readPort(name: string, otherwise: number): number {
  const text = process.env[name];
  if (text === undefined || text === '') return otherwise;
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new Error(`${name} must be a port number, not "${text}"`);
  return port;
}

/** Refuses a port that is in use before anything else is touched, and names the variable to set. */
export function requireFreePort(name: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? new Error(`Port ${port} is in use: set ${name} to a free one`) : error),
    );
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve()));
  });
}
