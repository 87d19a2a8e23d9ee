import { createHash } from 'node:crypto';
import pg from 'pg';

type Query = (config: unknown, values?: unknown, callback?: unknown) => unknown;

/** Names each statement that has parameters, so that a connection plans it once instead of at every call. */
class PreparingClient extends pg.Client {}
const query = pg.Client.prototype.query as Query;
PreparingClient.prototype.query = function (this: pg.Client, config: unknown, values?: unknown, callback?: unknown) {
  if (typeof config === 'string') {
    const named = Array.isArray(values) && values.length > 0;
    return query.call(this, named ? { name: nameOf(config), text: config } : config, values, callback);
  }
  const { name, text, values: own = [] } = config as { name?: string; text: string; values?: unknown[] };
  const named = name === undefined && own.length > 0;
  return query.call(this, named ? { name: nameOf(text), text, values: own } : config, values, callback);
} as typeof pg.Client.prototype.query;

class PreparingPool extends pg.Pool {
  constructor(config: pg.PoolConfig) {
    super({ ...config, Client: PreparingClient });
  }
}

function nameOf(statement: string): string {
  return createHash('md5').update(statement).digest('base64');
}

/** `driver` of a TypeORM data source, for tests that run the same statements thousands of times. */
export const preparingDriver = { ...pg, Client: PreparingClient, Pool: PreparingPool };
