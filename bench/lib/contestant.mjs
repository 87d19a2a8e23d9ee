/*
 * What a measured process says to the bench that has started it: imported by each file in bench/contestants.
 */

/** What `startContestant` was given. */
export const options = JSON.parse(process.env.BENCH_OPTIONS ?? '{}');

/**
 * Says where it listens, or that it is ready, and answers the bench's questions from now on.
 * @param {object} [about]
 * @param {Record<string, ((argument: any) => unknown) | undefined>} [handlers]
 */
export function ready(about = {}, handlers = {}) {
  /** @type {typeof handlers} */
  const answers = { usage, ...handlers };
  /** @param {{ id: number; question: string; argument: unknown }} message */
  const answer = async ({ id, question, argument }) => {
    try {
      const handler = answers[question];
      if (!handler) throw new Error(`Nobody answers "${question}".`);
      tell({ id, answer: await handler(argument) });
    } catch (error) {
      tell({ id, error: error instanceof Error ? error.stack : String(error) });
    }
  };
  process.on('message', answer);
  // Profiles are written at an orderly exit.
  process.on('SIGTERM', () => process.exit(0));
  tell({ ready: about });
}

/** @param {object} message */
function tell(message) {
  if (!process.send) throw new Error('Nobody has started this process to measure it.');
  process.send(message);
}

/**
 * The port that the system has given to a server.
 * @param {import('node:net').Server} server
 */
export function portOf(server) {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server does not listen on a port.');
  return address.port;
}

/** Seconds of processor time and milliseconds of a busy event loop since the start, and bytes; the heap as it is after a collection, where node allows one. */
function usage() {
  globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed, external } = process.memoryUsage();
  const busyMs = performance.eventLoopUtilization().active;
  return { cpuSeconds: (user + system) / 1e6, busyMs, rss, heapUsed, external };
}
