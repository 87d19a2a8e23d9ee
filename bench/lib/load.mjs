import { fileURLToPath } from 'node:url';
import { startProcess } from './processes.mjs';

/**
 * A load generator in a process of its own: HTTP/1.1 over sockets that stay open, one request at a time on each.
 * @returns `{ fire(options), stop() }`; see load-process.mjs for the options and what comes back
 */
export async function startLoad() {
  const load = await startProcess('load', fileURLToPath(new URL('./load-process.mjs', import.meta.url)), {});
  return { fire: (options) => load.ask('fire', options), stop: () => load.stop() };
}
