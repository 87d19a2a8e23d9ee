import { Redis } from 'ioredis';
import pg from 'pg';

/** @import { Places } from './example-payment.mjs' */

const url = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379';

/** Why the example that needs Redis cannot run here; `undefined` if it can. */
export async function whyNoRedis() {
  const redis = new Redis(url, { lazyConnect: true, connectTimeout: 2000, retryStrategy: () => null });
  redis.on('error', () => {}); // the promise says it
  return redis
    .connect()
    .then(() => redis.ping())
    .then(
      () => undefined,
      () => 'no Redis answers at REDIS_URL, or at its standard address',
    )
    .finally(() => redis.disconnect());
}

/** The first commit of a paid order fails: after the handler has handed over to Redis, which nothing takes back. */
export function failFirstCommit(/** @type {Places} */ { databaseUrl }) {
  return onDatabase(databaseUrl, async (client) => {
    await client.query(`
      CREATE SEQUENCE attempt;
      CREATE FUNCTION fail_first() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF nextval('attempt') = 1 THEN RAISE EXCEPTION 'the first commit fails'; END IF;
        RETURN NULL;
      END $$;
      CREATE CONSTRAINT TRIGGER fail_first AFTER UPDATE OF status ON orders DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (NEW.status = 'paid') EXECUTE FUNCTION fail_first();`);
  });
}

/** Two attempts of the handler have left one job, which BullMQ keeps under its id: a hash with the job's name. */
export async function countJobs(/** @type {Places} */ { databaseUrl, prefix }) {
  const redis = new Redis(url);
  try {
    const keys = await redis.keys(`${prefix}:shipping:*`);
    const named = keys.map(
      async (key) => (await redis.type(key)) === 'hash' && (await redis.hexists(key, 'name')) === 1,
    );
    const jobs = (await Promise.all(named)).filter(Boolean).length;
    const attempts = await onDatabase(databaseUrl, async (client) => {
      const { rows } = await client.query('SELECT last_value::int AS count FROM attempt');
      return rows[0].count;
    });
    if (attempts !== 2 || jobs !== 1) throw new Error(`${attempts} attempts have left ${jobs} jobs.`);
    await redis.del(...keys);
  } finally {
    redis.disconnect();
  }
}

/**
 * @template T
 * @returns {Promise<T>}
 */
async function onDatabase(
  /** @type {string} */ connectionString,
  /** @type {(client: pg.Client) => Promise<T>} */ work,
) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  return work(client).finally(() => client.end());
}
