import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError } from '../../scripts/lib/lifecycle.mjs';

/** @import { User } from '../../scripts/lib/folders.mjs' */
/** @import { KeptServer } from '../../scripts/lib/keeper.mjs' */

/** @typedef {Record<string, any>} Row with the columns that were asked for */
/** @typedef {{ query(sql: string, parameters?: unknown[]): Promise<Row[]>; end(): unknown }} Connection */
/** @typedef {{ home: string; user: User | undefined; binaries: any; port: number }} Settings of a server, with its kind's programs */

/**
 * What there is to know of PostgreSQL and MariaDB.
 * @typedef {object} DatabaseKind
 * @property {string} name
 * @property {Record<string, number>} crashes how often each
 * @property {NodeJS.Signals} immediately ends the server without a checkpoint
 * @property {string} snapshot begins a transaction that sees one instant
 * @property {string} connections statement that gives the `id` of every other connection
 * @property {(user: User | undefined) => unknown} programs
 * @property {(settings: Settings) => Promise<KeptServer>} start
 * @property {(home: string) => { pid: number; ready: boolean; kept: boolean } | undefined} find
 * @property {(home: string) => Promise<void>} end
 * @property {(client: Connection, ids: number[]) => Promise<unknown>} cut
 * @property {(url: string) => Promise<Connection>} connect
 */

/**
 * A database to which an account can be held.
 * @typedef {object} AnyDatabase
 * @property {DatabaseKind} kind
 * @property {string} home
 * @property {string} url
 * @property {<T>(work: (client: Connection) => Promise<T>) => Promise<T>} query
 * @property {(seconds: number) => Promise<void>} becomesReady
 */

/**
 * Runs `work` with a connection of its own.
 * @template T
 * @param {Pick<DatabaseKind, 'connect'>} kind
 * @param {string} url
 * @param {(client: Connection) => Promise<T>} work
 */
export async function connected(kind, url, work) {
  const client = await kind.connect(url);
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * Waits until a database answers.
 * @param {Pick<AnyDatabase, 'query'>} database
 * @param {number} seconds
 */
export async function untilAnswered(database, seconds) {
  for (const end = Date.now() + seconds * 1000; ; await sleep(100)) {
    if (await database.query((client) => client.query('SELECT 1')).catch(() => undefined)) return;
    if (Date.now() > end) throw new CommandError(`The database did not answer within ${seconds} s.`);
  }
}
