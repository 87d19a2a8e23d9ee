// pg-boss: the job is sent in the transaction that stores the callback. A worker takes jobs in batches, asks the service, and writes
// payment and order in a transaction of the host's; then pg-boss completes the jobs in one of its own. At least once.
import { notifyPollingIntervalSeconds, QUEUE, sendingIn, startBoss } from '../lib/pg-boss.mjs';
import { serveQueued } from '../lib/queued.mjs';

await serveQueued(async (host) => {
  const boss = await startBoss();
  /** @param {{ id: string; data: { billId: string } }} job */
  const settle = async ({ id, data: { billId } }) => {
    try {
      await host.settle(billId);
      return { id, status: /** @type {const} */ ('completed') };
    } catch (error) {
      return { id, status: /** @type {const} */ ('failed'), output: { message: String(error) } };
    }
  };
  await boss.work(
    QUEUE,
    { batchSize: 25, localConcurrency: 2, perJobResults: true, burstWhenBatchFull: true, notifyPollingIntervalSeconds },
    (/** @type {Parameters<typeof settle>[0][]} */ jobs) => Promise.all(jobs.map(settle)),
  );
  return sendingIn(boss, host);
});
