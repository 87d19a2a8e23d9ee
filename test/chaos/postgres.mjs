import { findPostgres } from '../../scripts/lib/postgres-binaries.mjs';
import { endServer, findServer, startServer } from '../../scripts/lib/postgres-server.mjs';

/**
 * What was committed outlives a kill of every process, though not a loss of power: what a killed process has written is
 * the kernel's. Half-written pages are possible, so full_page_writes stays on.
 */
export const mode = {
  initdb: ['--no-sync'],
  server: ['-c', 'fsync=off', '-c', 'synchronous_commit=on', '-c', 'full_page_writes=on'],
  stop: 'QUIT',
};

/**
 * What {@link ChaosDatabase} has to know of PostgreSQL.
 * @satisfies {import('./connections.mjs').DatabaseKind}
 */
export const postgres = {
  name: 'postgres',
  /** How often each. `backend`: `kill -9` of one process, upon which the server restarts by itself. */
  crashes: { immediate: 7, 'kill -9': 8, backend: 9 },
  /** Ends the server without a checkpoint. */
  immediately: 'SIGQUIT',
  programs: findPostgres,
  start: (settings) => startServer({ ...settings, mode }),
  find: findServer,
  end: endServer,
  snapshot: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
  connections: `SELECT pid AS id FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY backend_start, pid`,
  cut: (client, ids) => client.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) pid', [ids]),

  async connect(connectionString) {
    const { default: pg } = await import('pg'); // installed by the command, if need be
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: 5_000 });
    client.on('error', () => undefined); // the query that it hits fails too
    const end = () => client.end().catch(() => undefined);
    try {
      await client.connect();
    } catch (error) {
      await end();
      throw error;
    }
    return { query: async (sql, values) => (await client.query(sql, values)).rows, end };
  },
};
