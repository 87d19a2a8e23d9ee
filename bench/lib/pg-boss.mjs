import { PgBoss } from 'pg-boss';
import { options } from './contestant.mjs';
import { jobIdOf } from './queued.mjs';

export const QUEUE = 'settle';

/** What both ways to work with pg-boss have in common: LISTEN, and attempts that wait longer and longer, up to ten minutes. */
export async function startBoss() {
  const boss = new PgBoss({ connectionString: options.databaseUrl, max: 10, useListenNotify: true });
  boss.on('error', console.error);
  await boss.start();
  const retries = { retryLimit: 20, retryDelay: 1, retryBackoff: true, retryDelayMax: 600 };
  await boss.createQueue(QUEUE, { notify: true, ...retries });
  return boss;
}

/**
 * Stores a callback and sends its job in one transaction.
 * @param {PgBoss} boss
 * @param {import('./queued.mjs').QueuedHost} host
 * @returns {import('./queued.mjs').Take}
 */
export const sendingIn = (boss, host) => (postback) =>
  host.dataSource.transaction(async (manager) => {
    await host.store(manager, postback);
    /** @type {(text: string, values?: unknown[]) => Promise<{ rows: any[] }>} */
    const executeSql = async (text, values) => ({ rows: await manager.query(text, values) });
    await boss.send(QUEUE, { billId: postback.TrsId }, { id: jobIdOf(postback), db: { executeSql } });
  });

/** How often a worker looks although nobody has notified it, in seconds. */
export const notifyPollingIntervalSeconds = 2;
