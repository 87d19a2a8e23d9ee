import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from './errors.mjs';
import { host } from './free-port.mjs';
import { CommandError } from './lifecycle.mjs';

/**
 * The port that the environment variable names, or the default. Fails where it is no port, or in use.
 * @param {string} variable
 * @param {number} defaultPort
 */
export async function portFrom(variable, defaultPort) {
  const text = process.env[variable] || String(defaultPort);
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535) throw new CommandError(`${variable}=${text} is not a port.`);
  try {
    await becomesFree(port);
    return port;
  } catch (error) {
    const code = codeOf(error);
    const reason = code === 'EADDRINUSE' ? 'is in use' : `cannot be used (${code})`;
    throw new CommandError(`Port ${port} ${reason}: set ${variable} to another one, or stop what uses it.`);
  }
}

/**
 * Waits a little, because the servers of a command that was killed take a moment to notice and end.
 * @param {number} port
 */
async function becomesFree(port) {
  for (let tries = 20; ; tries--) {
    try {
      const server = await listen(port);
      await new Promise((resolve) => server.close(resolve));
      return;
    } catch (error) {
      if (codeOf(error) !== 'EADDRINUSE' || tries === 0) throw error;
      await sleep(100);
    }
  }
}

/**
 * @param {number} port
 * @returns {Promise<net.Server>}
 */
function listen(port) {
  return new Promise((resolve, reject) => {
    const server = net.createServer().once('error', reject);
    server.listen(port, host, () => resolve(server));
  });
}
