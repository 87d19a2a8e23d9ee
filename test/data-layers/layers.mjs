// The data layers, each on a database. Plain JavaScript, since processes that are killed use them, too.
import { PrismaMariaDb } from '@prisma/adapter-mariadb';
import { PrismaPg } from '@prisma/adapter-pg';
import * as prismaRuntime from '@prisma/client/runtime/client';
import { sql } from 'drizzle-orm';
import { drizzle as drizzleOnMysql } from 'drizzle-orm/mysql2';
import { drizzle as drizzleOnPg } from 'drizzle-orm/node-postgres';
import { drizzle as drizzleOnPostgresJs } from 'drizzle-orm/postgres-js';
import knex from 'knex';
import { CompiledQuery, Kysely, MysqlDialect, PostgresDialect } from 'kysely';
import callbackMysql from 'mysql2';
import mysql from 'mysql2/promise';
import { drizzleTransactions } from 'nestjs-payment-acceptance/drizzle';
import { knexTransactions } from 'nestjs-payment-acceptance/knex';
import { kyselyTransactions } from 'nestjs-payment-acceptance/kysely';
import { mikroOrmTransactions } from 'nestjs-payment-acceptance/mikro-orm';
import { mysql2Transactions } from 'nestjs-payment-acceptance/mysql2';
import { pgTransactions } from 'nestjs-payment-acceptance/pg';
import { prismaTransactions } from 'nestjs-payment-acceptance/prisma';
import pg from 'pg';
import postgres from 'postgres';

/**
 * @typedef {object} Layer on the database of a test; its statements have no parameters
 * @property {import('nestjs-payment-acceptance').PaymentTransactions} transactions
 * @property {(tx: any, statement: string) => Promise<unknown>} send
 * @property {(tx: any, work: (tx: any) => Promise<unknown>) => Promise<unknown>} [nested] a transaction of the layer's own within the
 * handler's; absent where it has none
 * @property {(tx: any) => Promise<unknown>} [end] the layer's own end of a transaction, by the handler; absent where it has none
 * @property {(tx: any, row?: { table: 'done' | 'effect'; values: object }) => void} [persist] a row that only the end of the transaction
 * writes; by default one that the database refuses
 * @property {() => Promise<unknown>} close
 */

/**
 * @typedef {object} LayerKind with what it cannot do, as docs/data-layers.md says
 * @property {string} name
 * @property {(url: string, connections?: number) => Promise<Layer> | Layer} open
 * @property {boolean} [isGated] from the witness on, only the module's statements pass
 * @property {boolean} [commitsUnawaited] a statement that a handler does not await commits although the handler throws
 * @property {string} [absent] why it is left out here
 */

const onMariaDb = process.env.TEST_DATABASE === 'mariadb';
const CONNECTIONS = 4;

/** @param {number} max */
const settings = (max) => ({ application_name: 'handlers', max });

/**
 * As in a host: without the listener, the end of an idle session would end the process.
 * @param {string} url
 * @param {number} max
 */
const pgPool = (url, max) => new pg.Pool({ connectionString: url, ...settings(max) }).on('error', () => undefined);

/** @param {string} url */
const mysqlUrl = (url) => url.replace('mariadb:', 'mysql:');

/**
 * @param {string} url
 * @param {number} connectionLimit
 */
const mysqlPool = (url, connectionLimit) => mysql.createPool({ uri: mysqlUrl(url), connectionLimit });

/** @type {LayerKind} */
const plain = {
  name: onMariaDb ? 'mysql2' : 'pg',
  isGated: true,
  open(url, connections = CONNECTIONS) {
    if (onMariaDb) {
      const pool = mysqlPool(url, connections);
      const transactions = mysql2Transactions(pool);
      return { transactions, send: (tx, statement) => tx.query(statement), close: () => pool.end() };
    }
    const pool = pgPool(url, connections);
    const transactions = pgTransactions(pool);
    return { transactions, send: (tx, statement) => tx.query(statement), close: () => pool.end() };
  },
};

/** @type {LayerKind} */
const drizzle = {
  name: 'Drizzle',
  isGated: true,
  open(url, connections = CONNECTIONS) {
    const on = {
      send: (/** @type {any} */ tx, /** @type {string} */ statement) => tx.execute(sql.raw(statement)),
      nested: (/** @type {any} */ tx, /** @type {(tx: any) => Promise<unknown>} */ work) => tx.transaction(work),
    };
    if (onMariaDb) {
      const pool = mysqlPool(url, connections);
      const transactions = drizzleTransactions(pool, (client) => drizzleOnMysql(client));
      return { ...on, transactions, close: () => pool.end() };
    }
    const pool = pgPool(url, connections);
    const transactions = drizzleTransactions(pool, (client) => drizzleOnPg(client));
    return { ...on, transactions, close: () => pool.end() };
  },
};

/** @type {LayerKind} */
const drizzleOnPostgres = {
  name: 'Drizzle on postgres.js',
  ...(onMariaDb && { absent: 'postgres.js has no MariaDB' }),
  open(url, connections = CONNECTIONS) {
    const clients = new Set();
    const transactions = drizzleTransactions(
      (options) => {
        const client = postgres(url, { ...options, connection: { application_name: 'handlers' } });
        clients.add(client);
        return client;
      },
      (client) => drizzleOnPostgresJs(client),
      { connections },
    );
    return {
      transactions,
      send: (tx, statement) => tx.execute(sql.raw(statement)),
      nested: (tx, work) => tx.transaction(work),
      close: () => Promise.all(Array.from(clients, (client) => client.end({ timeout: 0 }))),
    };
  },
};

/** @type {LayerKind} */
const kysely = {
  name: 'Kysely',
  isGated: true,
  open(url, connections = CONNECTIONS) {
    /** @type {Layer['send']} */
    const send = (tx, statement) => tx.executeQuery(CompiledQuery.raw(statement));
    if (onMariaDb) {
      const pool = callbackMysql.createPool({ uri: mysqlUrl(url), connectionLimit: connections });
      const transactions = kyselyTransactions(
        pool,
        (single) => new Kysely({ dialect: new MysqlDialect({ pool: single }) }),
      );
      return { transactions, send, close: () => pool.promise().end() };
    }
    const pool = pgPool(url, connections);
    const transactions = kyselyTransactions(
      pool,
      (single) => new Kysely({ dialect: new PostgresDialect({ pool: single }) }),
    );
    return { transactions, send, close: () => pool.end() };
  },
};

/** It prints each session that ends. */
const SILENT = { error: () => undefined, warn: () => undefined };

/** @type {LayerKind} */
const knexLayer = {
  name: 'Knex',
  open(url, connections = CONNECTIONS) {
    const instance = knex({
      client: onMariaDb ? 'mysql2' : 'pg',
      connection: onMariaDb ? mysqlUrl(url) : { connectionString: url, application_name: 'handlers' },
      pool: { min: 0, max: connections },
      log: SILENT,
    });
    return {
      transactions: knexTransactions(instance),
      send: (tx, statement) => Promise.resolve(tx.raw(statement)),
      end: (tx) => tx.rollback(),
      nested: (tx, work) => tx.transaction(work),
      close: () => instance.destroy(),
    };
  },
};

/** @type {LayerKind} */
const prisma = {
  name: 'Prisma',
  open(url, connections = CONNECTIONS) {
    const client = prismaClient(url, connections);
    return {
      transactions: prismaTransactions(client, { provider: onMariaDb ? 'mysql' : 'postgresql', connections }),
      send: (tx, statement) => tx.$executeRawUnsafe(statement),
      nested: (tx, work) => tx.$transaction(work),
      close: () => client.$disconnect(),
    };
  },
};

/**
 * A client as `prisma generate` writes it, without models: to generate one needs Prisma's command line, which is large.
 * @param {string} url
 * @param {number} connections
 * @returns {any}
 */
function prismaClient(url, connections) {
  const provider = onMariaDb ? 'mysql' : 'postgresql';
  const compiler = `@prisma/client/runtime/query_compiler_fast_bg.${provider}`;
  /** @type {any} */
  const Client = prismaRuntime.getPrismaClient({
    previewFeatures: [],
    clientVersion: '7.10.1',
    engineVersion: '0'.repeat(40),
    activeProvider: provider,
    inlineSchema: `datasource db {\n  provider = "${provider}"\n}\n`,
    runtimeDataModel: { models: {}, enums: {}, types: {} },
    parameterizationSchema: { strings: [], graph: 'AAAA' },
    compilerWasm: {
      getRuntime: () => import(`${compiler}.mjs`),
      getQueryCompilerWasmModule: async () => {
        const { wasm } = await import(`${compiler}.wasm-base64.mjs`);
        const { Module } = Reflect.get(globalThis, 'WebAssembly');
        return new Module(Buffer.from(wasm, 'base64'));
      },
      importName: './query_compiler_fast_bg.js',
    },
  });
  const adapter = onMariaDb
    ? new PrismaMariaDb(url)
    : new PrismaPg({ connectionString: url, ...settings(connections) });
  return new Client({ adapter });
}

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

/** @type {LayerKind} */
const mikroOrm = {
  name: 'MikroORM',
  commitsUnawaited: true,
  ...(major * 100 + minor < 2217 && { absent: 'MikroORM 7 needs Node.js 22.17' }),
  async open(url, connections = CONNECTIONS) {
    /** @type {any} */
    const { MikroORM } = await import(onMariaDb ? '@mikro-orm/mariadb' : '@mikro-orm/postgresql');
    const { EntitySchema } = await import('@mikro-orm/core');
    const text = /** @param {string} fieldName */ (fieldName) => ({ type: 'string', fieldName });
    const key = (/** @type {string} */ fieldName) => ({ ...text(fieldName), primary: true });
    /** @type {any} */
    const entities = {
      unused: new EntitySchema({ name: 'Unused', properties: { id: { type: 'number', primary: true } } }),
      done: new EntitySchema({ name: 'Done', tableName: 'done', properties: { what: key('what') } }),
      effect: new EntitySchema({
        name: 'Effect',
        tableName: 'effect',
        properties: {
          consumer: key('consumer'),
          event: text('event'),
          paymentId: text('paymentId'),
          orderId: text('orderId'),
        },
      }),
    };
    const driverOptions = onMariaDb ? {} : { application_name: 'handlers' };
    const orm = await MikroORM.init({
      clientUrl: url,
      entities: Object.values(entities),
      driverOptions,
      pool: { max: connections },
    });
    return {
      transactions: mikroOrmTransactions(orm.em),
      send: (tx, statement) => tx.execute(statement),
      nested: (tx, work) => tx.transactional(work),
      persist: (tx, row) => tx.persist(tx.create(entities[row?.table ?? 'unused'], row?.values ?? { id: 1 })),
      close: () => orm.close(),
    };
  },
};

/** @type {readonly LayerKind[]} */
export const LAYERS = [plain, drizzle, drizzleOnPostgres, kysely, knexLayer, prisma, mikroOrm];
