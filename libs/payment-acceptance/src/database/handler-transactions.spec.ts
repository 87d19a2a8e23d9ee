import { expect, test } from '@jest/globals';
import { NoConnectionError } from './database.errors.js';
import { HandlerTransactions } from './handler-transactions.js';
import type { HostSessions } from './host-sessions.js';

test('a session that falls silent before the handler has begun ends the attempt, uncounted', async () => {
  const layer = {
    placeholders: '$1' as const,
    run: <T>(work: (tx: object) => Promise<T>) => work({}),
    query: () => new Promise<never>(() => undefined),
  };
  const sessions = {
    database: { mustRepeat: () => false },
    begin: () => new Promise<never>(() => undefined),
    undo: () => Promise.resolve(),
    kill: () => Promise.resolve(),
  };
  const transactions = new HandlerTransactions(layer, sessions as unknown as HostSessions, () => undefined);
  const limits = { signal: new AbortController().signal, connectMs: 20, unattendedMs: 60_000 };
  const run = transactions.run(limits, () => Promise.resolve());
  await expect(run).rejects.toThrow('The session did not answer within 20 ms.');
  await expect(run).rejects.toBeInstanceOf(NoConnectionError);
});
