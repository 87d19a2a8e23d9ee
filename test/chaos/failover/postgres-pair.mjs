import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError } from '../../../scripts/lib/lifecycle.mjs';
import { startServer } from '../../../scripts/lib/postgres-server.mjs';
import { connected } from '../connections.mjs';
import { mode, postgres } from '../postgres.mjs';
import { copyFolder } from './copy-folder.mjs';

/** @import { User } from '../../../scripts/lib/folders.mjs' */
/** @import { Connection } from '../connections.mjs' */
/** @import { Node } from './node.mjs' */
/** @import { Common, Replication } from './pair.mjs' */

/** Kept for a standby that begins with a copy of the files, and asks for what was written since. */
const PAIR = [
  '-c',
  'wal_keep_size=512MB',
  '-c',
  'wal_receiver_status_interval=1s',
  '-c',
  'wal_retrieve_retry_interval=100ms',
];

/** What a server makes for itself; pg_wal comes by streaming. */
const NOT_COPIED =
  /^(postmaster\.(pid|opts)|standby\.signal|(pg_(wal|replslot|dynshmem|notify|serial|snapshots|stat_tmp|subtrans))\/.*)$/;

const STREAMS_S = 30;

/**
 * What {@link DatabasePair} has to know of PostgreSQL: streaming replication, without any program but the server's own.
 * @type {Replication}
 */
export const postgresPair = {
  kind: postgres,

  start,
  startAsStandby,

  /** A copy of the running primary's files, in its backup mode, that follows it. */
  async makeStandby(primary, standby, common) {
    const making = path.join(standby.home, 'data.partial');
    fs.rmSync(path.join(standby.home, 'data'), { recursive: true, force: true });
    fs.rmSync(making, { recursive: true, force: true });
    const own = common.user;
    await query(primary, async (client) => {
      await client.query(`SELECT pg_backup_start('standby', fast => true)`);
      await copyFolder(path.join(primary.home, 'data'), making, { user: own, except: NOT_COPIED });
      const [stopped] = await client.query('SELECT labelfile FROM pg_backup_stop(wait_for_archive => false)');
      write(path.join(making, 'backup_label'), stopped?.labelfile, own);
    });
    fs.copyFileSync(path.join(primary.home, 'password'), path.join(standby.home, 'password'));
    if (own) fs.chownSync(path.join(standby.home, 'password'), own.uid, own.gid);
    fs.renameSync(making, path.join(standby.home, 'data'));
    await startAsStandby(primary, standby, common);
  },

  /** Whether a commit waits for the standby. Resolves when the standby streams, and it is so. */
  async setSynchronous(primary, synchronous) {
    await query(primary, async (client) => {
      await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${synchronous ? '*' : ''}'`);
      await client.query('SELECT pg_reload_conf()');
      const wanted = synchronous ? 'sync' : 'async';
      for (const end = Date.now() + STREAMS_S * 1000; ; await sleep(50)) {
        const [found] = await client.query(
          `SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = $1`,
          [wanted],
        );
        if (found) return;
        if (Date.now() > end) throw new CommandError(`The standby did not stream (${wanted}) within ${STREAMS_S} s.`);
      }
    });
  },

  /** The standby gets no more of what is committed. It does not know. */
  async cutReplication(primary, standby) {
    await query(standby, async (client) => {
      await client.query(`ALTER SYSTEM SET primary_conninfo = ''`);
      await client.query('SELECT pg_reload_conf()');
    });
    await query(primary, async (client) => {
      while ((await client.query('SELECT 1 FROM pg_stat_replication')).length > 0) await sleep(20);
    });
  },

  /** Resolves when the standby takes writes; no commit of it waits for another server. */
  async promote(standby) {
    await query(standby, async (client) => {
      await client.query(`ALTER SYSTEM SET synchronous_standby_names = ''`);
      await client.query('SELECT pg_reload_conf()');
      const [done] = await client.query('SELECT pg_promote(wait_seconds => 30) AS promoted');
      if (!done?.promoted) throw new CommandError('The standby could not be promoted within 30 s.');
    });
  },

  /** Ends a primary so that its standby has all of it (fast shutdown). */
  shutDown(node) {
    const server = postgres.find(node.home);
    if (server) process.kill(server.pid, 'SIGINT');
  },
};

/**
 * @param {Node} node
 * @param {Common} common
 */
async function start(node, common) {
  const { home, port } = node;
  const server = [...mode.server, ...PAIR];
  node.server = await startServer({ ...common, home, port, mode: { ...mode, server } });
}

/**
 * Starts a server as the primary's read-only standby, with the data that it has.
 * @param {Node} primary
 * @param {Node} standby
 * @param {Common} common
 */
async function startAsStandby(primary, standby, common) {
  const data = path.join(standby.home, 'data');
  write(path.join(data, 'standby.signal'), '', common.user);
  write(path.join(data, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo(primary)}'\n`, common.user);
  await start(standby, common);
}

/**
 * @param {Node} node
 * @param {(client: Connection) => Promise<void>} work
 */
const query = (node, work) => connected(postgres, node.url, work);

/** @param {Node} node */
function conninfo(node) {
  const { hostname, port, username, password } = new URL(node.url);
  return `host=${hostname} port=${port} user=${username} password=${password}`;
}

/**
 * @param {string} file
 * @param {string} text
 * @param {User | undefined} user
 */
function write(file, text, user) {
  fs.writeFileSync(file, text, { mode: 0o600 });
  if (user) fs.chownSync(file, user.uid, user.gid);
}
