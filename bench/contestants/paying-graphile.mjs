// graphile-worker: the job is added in the transaction that stores the callback. A task asks the service, and writes payment and
// order in a transaction of the host's; then graphile-worker deletes the job in one of its own. At least once.
import { Logger, run, WorkerPreset } from 'graphile-worker';
import { options } from '../lib/contestant.mjs';
import { serveQueued } from '../lib/queued.mjs';

/** Its own would print a line for each job. */
const logger = new Logger(() => (level, message) => {
  if (level === 'error' || level === 'warning') console.error(message);
});

await serveQueued(async (host) => {
  await run({
    preset: {
      extends: [WorkerPreset],
      // As its page on performance recommends: a local queue, and the ends of jobs in batches.
      worker: {
        connectionString: options.databaseUrl,
        concurrentJobs: 24,
        maxPoolSize: 26,
        localQueue: { size: 25 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
        logger,
      },
    },
    noHandleSignals: true,
    taskList: { settle: (payload) => host.settle(/** @type {{ billId: string }} */ (payload).billId) },
  });
  return (postback) =>
    host.dataSource.transaction(async (manager) => {
      await host.store(manager, postback);
      const { TrsId: billId } = postback;
      const values = [JSON.stringify({ billId }), billId];
      await manager.query(`SELECT graphile_worker.add_job('settle', payload := $1, job_key := $2)`, values);
    });
});
