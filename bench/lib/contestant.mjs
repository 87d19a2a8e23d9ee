/*
 * What a measured process says to the bench that has started it: imported by each file in bench/contestants.
 */

/** What `startContestant` was given. */
export const options = JSON.parse(process.env.BENCH_OPTIONS ?? '{}');

/** Says where it listens, or that it is ready, and answers the bench's questions from now on. */
export function ready(about = {}, handlers = {}) {
  const answers = { usage, ...handlers };
  process.on('message', async ({ id, question, argument }) => {
    try {
      process.send({ id, answer: await answers[question](argument) });
    } catch (error) {
      process.send({ id, error: error.stack });
    }
  });
  // Profiles are written at an orderly exit.
  process.on('SIGTERM', () => process.exit(0));
  process.send({ ready: about });
}

/** Seconds of processor time since the start, and bytes; the heap as it is after a collection, where node allows one. */
function usage() {
  globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { cpuSeconds: (user + system) / 1e6, rss, heapUsed, external };
}
