// pg-boss's transactional workers: payment, order and the end of the job in one transaction, which is open while the service is
// asked. That is what pg-boss has nearest to a durable handler.
import { notifyPollingIntervalSeconds, QUEUE, sendingIn, startBoss } from '../lib/pg-boss.mjs';
import { serveQueued } from '../lib/queued.mjs';

/** @typedef {{ data: { billId: string } }} Job */

await serveQueued(async (host) => {
  const boss = await startBoss();
  await boss.work(
    QUEUE,
    { batchSize: 20, localConcurrency: 2, transactional: true, burstWhenBatchFull: true, notifyPollingIntervalSeconds },
    async (/** @type {Job[]} */ jobs, /** @type {{ executeSql: import('../lib/queued.mjs').Execute }} */ tx) => {
      const payments = await Promise.all(jobs.map(async ({ data: { billId } }) => [billId, await host.ask(billId)]));
      for (const [billId, payment] of /** @type {[string, import('../lib/queued.mjs').Payment][]} */ (payments)) {
        await host.settleIn((text, values) => tx.executeSql(text, values), billId, payment);
      }
    },
  );
  return sendingIn(boss, host);
});
