import { randomInt } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError } from '../../../scripts/lib/lifecycle.mjs';
import { startMariaDb } from '../../../scripts/lib/mariadb-server.mjs';
import { connected } from '../connections.mjs';
import { mariadb } from '../mariadb.mjs';

/** @import { Connection } from '../connections.mjs' */
/** @import { Node } from './node.mjs' */
/** @import { Common, Replication } from './pair.mjs' */

/** Of a commit that nobody has answered for a day, nobody waits any more. */
const DAY_MS = 86_400_000;

/** The binary log begins with the server's first statement and is kept: a new standby repeats all of it. */
const PAIR = [
  '--log-bin=binlog',
  '--binlog-format=ROW',
  '--log-slave-updates',
  '--rpl-semi-sync-master-wait-point=AFTER_SYNC', // nobody sees a commit that the standby has not
  `--rpl-semi-sync-master-timeout=${DAY_MS}`,
  '--rpl-semi-sync-slave-enabled=ON',
];

const FOLLOWS_S = 60;

/**
 * What {@link DatabasePair} has to know of MariaDB: replication by GTID, semi-synchronous where commits have to wait.
 * @type {Replication}
 */
export const mariadbPair = {
  kind: mariadb,

  start,

  /** An empty server that repeats all that the running primary has ever done, and follows it. */
  async makeStandby(primary, standby, common) {
    for (const name of ['data', 'data.partial']) {
      fs.rmSync(path.join(standby.home, name), { recursive: true, force: true });
    }
    const { username, password } = new URL(primary.url);
    await start(standby, { ...common, password });
    await query(standby, async (client) => {
      await client.query(
        `CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=${primary.port}, MASTER_USER='${username}',
          MASTER_PASSWORD='${password}', MASTER_CONNECT_RETRY=1, MASTER_USE_GTID=slave_pos`,
      );
      await client.query('START SLAVE');
    });
    const done = await query(primary, (client) => valueOf(client, '@@gtid_binlog_pos'));
    await query(standby, (client) => hasDone(client, done));
  },

  /** Whether a commit waits for the standby. Resolves when it is so. */
  async setSynchronous(primary, synchronous) {
    await query(primary, async (client) => {
      await client.query(`SET GLOBAL rpl_semi_sync_master_enabled = ${synchronous ? 'ON' : 'OFF'}`);
      const status = `SELECT variable_value AS value FROM information_schema.global_status
        WHERE variable_name = 'RPL_SEMI_SYNC_MASTER_CLIENTS'`;
      for (const end = Date.now() + FOLLOWS_S * 1000; synchronous; await sleep(50)) {
        const [row] = await client.query(status);
        if (Number(row?.value) > 0) return;
        if (Date.now() > end) throw new CommandError(`The standby did not follow within ${FOLLOWS_S} s.`);
      }
    });
  },

  /** The standby gets no more of what is committed. */
  async cutReplication(_primary, standby) {
    await query(standby, (client) => client.query('STOP SLAVE IO_THREAD'));
  },

  /** Resolves when the standby has done all that it was sent, and is nobody's standby any more. */
  async promote(standby) {
    await query(standby, async (client) => {
      await client.query('STOP SLAVE IO_THREAD');
      const [status] = await client.query('SHOW SLAVE STATUS');
      await hasDone(client, status?.Gtid_IO_Pos);
      await client.query('STOP SLAVE');
      await client.query('RESET SLAVE ALL');
    });
  },
};

/**
 * With another id each time: a server leaves out what its log says that it has done itself.
 * @param {Node} node
 * @param {Common & { password?: string }} common
 */
async function start(node, common) {
  const { home, port } = node;
  const args = [...PAIR, `--server-id=${randomInt(1, 2 ** 32)}`];
  node.server = await startMariaDb({ ...common, home, port, args });
}

/**
 * @param {Connection} client
 * @param {string} position
 */
async function hasDone(client, position) {
  const left = await valueOf(client, `MASTER_GTID_WAIT('${position}', ${FOLLOWS_S})`);
  if (left !== 0) throw new CommandError(`The standby has not done ${position} within ${FOLLOWS_S} s.`);
}

/**
 * @param {Connection} client
 * @param {string} expression
 */
async function valueOf(client, expression) {
  const [row] = await client.query(`SELECT ${expression} AS value`);
  return row?.value;
}

/**
 * @template T
 * @param {Node} node
 * @param {(client: Connection) => Promise<T>} work
 */
const query = (node, work) => connected(mariadb, node.url, work);
