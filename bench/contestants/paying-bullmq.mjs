// BullMQ: the callback is stored in PostgreSQL, then the job is added in Redis; no transaction spans both. A worker asks the service,
// and writes payment and order in a transaction of the host's; then BullMQ moves the job. At least once.
import { Queue, Worker } from 'bullmq';
import { options } from '../lib/contestant.mjs';
import { serveQueued } from '../lib/queued.mjs';

const QUEUE = 'settle';
const prefix = options.redisPrefix;
const connection = { host: '127.0.0.1', port: options.redisPort };
const queue = new Queue(QUEUE, {
  prefix,
  connection,
  defaultJobOptions: {
    attempts: 20,
    backoff: { type: 'exponential', delay: 1_000, jitter: 0.5 },
    removeOnComplete: { count: 1_000 },
    removeOnFail: { count: 5_000 },
  },
});

await serveQueued(
  async (host) => {
    const worker = new Worker(QUEUE, ({ data: { billId } }) => host.settle(billId), {
      prefix,
      connection: { ...connection, maxRetriesPerRequest: null },
      concurrency: 20,
    });
    worker.on('error', console.error);
    await worker.waitUntilReady();
    return async (postback) => {
      await host.store(host.dataSource, postback);
      await queue.add('settle', { billId: postback.TrsId }, { jobId: postback.TrsId });
    };
  },
  {
    unfinished: async () => {
      const counts = await queue.getJobCounts('waiting', 'active', 'delayed', 'prioritized', 'failed');
      return Object.values(counts).reduce((sum, count) => sum + count, 0);
    },
  },
);
