import { endMariaDb, findMariaDb, findMariaDbServer, startMariaDb } from '../../scripts/lib/mariadb-server.mjs';

/** @import { DatabaseKind, Row } from './connections.mjs' */

const NO_SUCH_CONNECTION = 1094;

/**
 * What {@link ChaosDatabase} has to know of MariaDB, whose connections are threads of one process.
 * @satisfies {DatabaseKind}
 */
export const mariadb = {
  name: 'mariadb',
  /** How often each. */
  crashes: { immediate: 11, 'kill -9': 13 },
  /** Ends the server with its log written, and its pages not. */
  immediately: 'SIGTERM',
  programs: findMariaDb,
  start: startMariaDb,
  find: findMariaDbServer,
  end: endMariaDb,
  snapshot: 'START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY',
  connections: `SELECT id FROM information_schema.processlist
    WHERE user = substring_index(current_user(), '@', 1) AND id <> connection_id() ORDER BY id`,
  async cut(client, ids) {
    for (const id of ids) {
      await client.query(`KILL CONNECTION ${id}`).catch((error) => {
        if (error.errno !== NO_SUCH_CONNECTION) throw error;
      });
    }
  },

  /** Takes statements that both servers understand, with the module's tables and parameters as PostgreSQL names them. */
  async connect(url) {
    const { createConnection } = await import('mysql2/promise'); // installed by the command, if need be
    const connection = await createConnection({ uri: url.replace(/^mariadb:/, 'mysql:'), connectTimeout: 5_000 });
    connection.on('error', () => undefined); // the query that it hits fails too
    /** @param {string} sql @param {unknown[]} values */
    const query = async (sql, values = []) => {
      const spelled = sql.replaceAll('payment_acceptance.', 'payment_acceptance_').replace(/\$\d+/g, '?');
      const [rows] = await connection.query(spelled, values);
      return /** @type {Row[]} */ (rows);
    };
    const end = () => connection.destroy();
    try {
      await query(`SET time_zone = '+00:00', sql_mode = concat(@@sql_mode, ',ANSI_QUOTES')`);
    } catch (error) {
      end();
      throw error;
    }
    return { query, end };
  },
};
