import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { startTemporaryPostgres } from '../../scripts/lib/postgres.mjs';
import { modes } from '../../scripts/lib/postgres-server.mjs';

/** @typedef {{ statement: string; calls: number; planUs: number; runUs: number; logBytes: number }} Statement */
/** @typedef {(statement: string, parameters?: unknown[]) => Promise<any[]>} Ask */

/** A PostgreSQL of our own that flushes each commit to the disk, as a real one must. */
export async function startDatabase() {
  const { url, profiling } = await start();
  let count = 0;
  const settings = await query(url, `SELECT name, setting FROM pg_settings WHERE name = ANY($1)`, [
    ['fsync', 'synchronous_commit', 'server_version'],
  ]);
  const {
    fsync,
    synchronous_commit: commit,
    server_version: version,
  } = Object.fromEntries(settings.map(({ name, setting }) => [name, setting]));
  if (fsync !== 'on' || commit !== 'on') throw new Error('The database does not flush its commits.');
  return {
    version,
    /** URL of a new, empty database. */
    async create() {
      const own = new URL(url);
      own.pathname = `/bench_${++count}`;
      await query(url, `CREATE DATABASE bench_${count}`);
      return own.href;
    },
    /**
     * What the statements of some work on a database take, the dearest first, in sums. `undefined` where the server has no
     * pg_stat_statements.
     * @param {string} databaseUrl
     * @param {() => Promise<unknown>} work
     * @returns {Promise<Statement[] | undefined>}
     */
    async profile(databaseUrl, work) {
      if (!profiling) return undefined;
      await query(databaseUrl, 'CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
      await track(url, 'top');
      await query(databaseUrl, 'SELECT pg_stat_statements_reset()');
      await work();
      await track(url, 'none');
      return query(databaseUrl, STATEMENTS);
    },
  };
}

const STATEMENTS = `SELECT query AS statement, calls::int, total_plan_time * 1000 AS "planUs",
  total_exec_time * 1000 AS "runUs", wal_bytes::float8 AS "logBytes"
  FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
  ORDER BY total_plan_time + total_exec_time DESC`;

/**
 * Able to tell what statements take, where it has the library for it; it does so while it is asked to. And able to tell when
 * a row was committed, which costs a commit ten bytes and no flush.
 * @returns {Promise<{ url: string; profiling: boolean }>}
 */
async function start() {
  /** @param {string[]} names */
  const settings = (names) => names.flatMap((name) => ['-c', name]);
  const always = ['track_commit_timestamp=on'];
  const able = [...always, 'shared_preload_libraries=pg_stat_statements', 'pg_stat_statements.track_planning=on'];
  try {
    const { url } = await startTemporaryPostgres({ ...modes.measured, server: settings(able) });
    await track(url, 'none');
    return { url, profiling: true };
  } catch {
    // Whatever else is wrong, the second attempt says.
    const { url } = await startTemporaryPostgres({ ...modes.measured, server: settings(always) });
    return { url, profiling: false };
  }
}

/**
 * @param {string} url
 * @param {string} what
 */
async function track(url, what) {
  await query(url, `ALTER SYSTEM SET pg_stat_statements.track = '${what}'`);
  await query(url, 'SELECT pg_reload_conf()');
}

/**
 * The rows of one statement, through a connection of its own.
 * @param {string} url
 * @param {string} statement
 * @param {unknown[]} [parameters]
 * @returns {Promise<any[]>}
 */
export function query(url, statement, parameters = []) {
  return connected(url, (ask) => ask(statement, parameters));
}

/**
 * Does work with a connection of its own: `ask` gives the rows of a statement.
 * @template T
 * @param {string} url
 * @param {(ask: Ask) => Promise<T>} work
 */
export async function connected(url, work) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(async (statement, parameters = []) => (await client.query(statement, parameters)).rows);
  } finally {
    await client.end();
  }
}

/** Where PostgreSQL's own load generator is, if it is installed. */
export function findPgbench() {
  const debian = '/usr/lib/postgresql';
  const versions = fs.existsSync(debian) ? fs.readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [...versions.map((version) => path.join(debian, version, 'bin'))];
  folders.push(...(process.env.PATH ?? '').split(path.delimiter));
  return folders.map((folder) => path.join(folder, 'pgbench')).find((program) => fs.existsSync(program));
}

/**
 * Runs a script of pgbench. Gives `{ rate, p50 }`: its average stands for the median, which it does not tell.
 * @param {string} program
 * @param {string} url
 * @param {{ script: string; clients?: number; seconds: number }} options
 */
export async function pgbench(program, url, { script, clients = 64, seconds }) {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'bench-pgbench-')), 'script.sql');
  fs.writeFileSync(file, script);
  const args = ['-n', '-M', 'prepared', '-c', String(clients), '-j', '1', '-T', String(seconds), '-f', file, url];
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  fs.rmSync(path.dirname(file), { recursive: true });
  if (code !== 0) throw new Error(`pgbench failed: ${errors}`);
  /** @param {RegExp} pattern */
  const figure = (pattern) => Number(pattern.exec(output)?.[1] ?? NaN);
  return { rate: figure(/tps = ([\d.]+)/), p50: figure(/latency average = ([\d.]+)/) };
}

/**
 * A new, empty database of the MariaDB server with that address.
 * @param {string} server
 */
async function mariaDatabase(server) {
  const url = server.replace(/^mariadb:/, 'mysql:');
  const name = `bench_${process.pid}`;
  /** @param {string} statement */
  const administer = async (statement) => {
    const dataSource = await new DataSource({ type: 'mariadb', url }).initialize();
    await dataSource.query(statement).finally(() => dataSource.destroy());
  };
  await administer(`CREATE DATABASE ${name}`);
  const own = new URL(url);
  own.pathname = `/${name}`;
  return { databaseUrl: own.href, drop: () => administer(`DROP DATABASE ${name}`) };
}

/**
 * The databases that the module runs on; each makes new, empty ones. MariaDB only where `TEST_MARIADB_URL` names a server.
 * @param {{ database: { create(): Promise<string> }; log(line: string): void }} context
 */
export function bothDatabases({ database, log }) {
  const server = process.env.TEST_MARIADB_URL;
  const all = [
    { name: 'PostgreSQL', create: async () => ({ databaseUrl: await database.create(), drop: async () => {} }) },
  ];
  if (server === undefined) log('MariaDB is left out: TEST_MARIADB_URL names none');
  else all.push({ name: 'MariaDB', create: () => mariaDatabase(server) });
  return all;
}
