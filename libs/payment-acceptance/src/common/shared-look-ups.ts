import { GroupCommit } from './group-commit.js';

const MAX_BATCH = 500;

/**
 * For look-ups by ids that anybody can send: those that arrive together share a statement, so any number of them holds
 * one connection.
 * @param name of the async resource in which they run
 * @param timeoutMs timeout of a statement, in milliseconds
 */
export function sharedLookUps<V>(
  name: string,
  timeoutMs: number,
  read: (ids: readonly string[]) => Promise<ReadonlyMap<string, V>>,
): (id: string) => Promise<V | undefined> {
  const lookUps = new GroupCommit<string, V | undefined>({
    name,
    maxBatch: MAX_BATCH,
    timeoutMs,
    run: async (ids) => {
      const valuesById = await read([...new Set(ids)]);
      return ids.map((id) => ({ value: valuesById.get(id) }));
    },
    processSingle: async (id) => (await read([id])).get(id),
    isSeparable: () => false,
  });
  return (id) => lookUps.add(id);
}
