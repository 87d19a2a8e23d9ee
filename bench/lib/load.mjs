import { fileURLToPath } from 'node:url';
import { startProcess } from './processes.mjs';

/** @typedef {{ rate: number; p50: number; p99: number; requests: number; failed: number; status: Record<string, number> }} Fired */

/**
 * A load generator in a process of its own: HTTP/1.1 over sockets that stay open, one request at a time on each:
 * with `fire` each follows the answer to the one before (load-process.mjs), with `arrive` they come at moments of their own
 * (arrivals.mjs). There are the options and what comes back.
 */
export async function startLoad() {
  const load = await startProcess('load', fileURLToPath(new URL('./load-process.mjs', import.meta.url)), {});
  return {
    /** @type {(options: import('./load-process.mjs').Fire) => Promise<Fired>} */
    fire: (options) => load.ask('fire', options),
    /** @type {(options: import('./arrivals.mjs').Arrivals) => ReturnType<typeof import('./arrivals.mjs').arrive>} */
    arrive: (options) => load.ask('arrive', options),
    stop: () => load.stop(),
  };
}
