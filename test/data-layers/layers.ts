import { PrismaMariaDb } from '@prisma/adapter-mariadb';
import { PrismaPg } from '@prisma/adapter-pg';
import * as prismaRuntime from '@prisma/client/runtime/client';
import { sql } from 'drizzle-orm';
import { drizzle as drizzleOnMysql } from 'drizzle-orm/mysql2';
import { drizzle as drizzleOnPg } from 'drizzle-orm/node-postgres';
import knex from 'knex';
import { CompiledQuery, Kysely, MysqlDialect, PostgresDialect } from 'kysely';
import callbackMysql from 'mysql2';
import mysql from 'mysql2/promise';
import type { PaymentTransactions } from 'nestjs-payment-acceptance';
import { drizzleTransactions } from 'nestjs-payment-acceptance/drizzle';
import { knexTransactions } from 'nestjs-payment-acceptance/knex';
import { kyselyTransactions } from 'nestjs-payment-acceptance/kysely';
import { mikroOrmTransactions } from 'nestjs-payment-acceptance/mikro-orm';
import { mysql2Transactions } from 'nestjs-payment-acceptance/mysql2';
import { pgTransactions } from 'nestjs-payment-acceptance/pg';
import { prismaTransactions } from 'nestjs-payment-acceptance/prisma';
import pg from 'pg';
import { ON_MARIADB } from '../support/database.js';

/** A data layer on the database of a test. Its statements have no parameters. */
export interface Layer {
  readonly transactions: PaymentTransactions;
  send(tx: unknown, statement: string): Promise<unknown>;
  /** A transaction of the layer's own within the handler's; absent where it has none. */
  nested?(tx: unknown, work: (tx: unknown) => Promise<unknown>): Promise<unknown>;
  close(): Promise<unknown>;
}

/** What a layer cannot do, as docs/data-layers.md says. */
export interface LayerKind {
  readonly name: string;
  open(url: string): Promise<Layer> | Layer;
  /** A statement that a handler does not await commits although the handler throws. */
  readonly commitsUnawaited?: boolean;
  /** Why it is left out here. */
  readonly absent?: string | undefined;
}

const settings = { application_name: 'handlers', max: 4 };
/** As in a host: without the listener, the end of an idle session would end the process. */
const poolOf = (url: string): pg.Pool =>
  new pg.Pool({ connectionString: url, ...settings }).on('error', () => undefined);
const mysqlUrl = (url: string): string => url.replace('mariadb:', 'mysql:');
const promisePool = (url: string): mysql.Pool => mysql.createPool({ uri: mysqlUrl(url), connectionLimit: 4 });

const plain: LayerKind = {
  name: ON_MARIADB ? 'mysql2' : 'pg',
  open(url) {
    if (ON_MARIADB) {
      const pool = promisePool(url);
      return {
        transactions: mysql2Transactions(pool),
        send: (tx, statement) => (tx as mysql.PoolConnection).query(statement),
        close: () => pool.end(),
      };
    }
    const pool = poolOf(url);
    return {
      transactions: pgTransactions(pool),
      send: (tx, statement) => (tx as pg.PoolClient).query(statement),
      close: () => pool.end(),
    };
  },
};

interface DrizzleTx {
  execute(statement: unknown): Promise<unknown>;
  transaction(work: (tx: unknown) => Promise<unknown>): Promise<unknown>;
}

const drizzle: LayerKind = {
  name: 'Drizzle',
  open(url) {
    const [transactions, close] = ON_MARIADB ? drizzleMysql(promisePool(url)) : drizzlePg(poolOf(url));
    return {
      transactions,
      send: (tx, statement) => (tx as DrizzleTx).execute(sql.raw(statement)),
      nested: (tx, work) => (tx as DrizzleTx).transaction(work),
      close,
    };
  },
};

function drizzlePg(pool: pg.Pool): [PaymentTransactions, () => Promise<unknown>] {
  return [drizzleTransactions(pool, (client) => drizzleOnPg(client)), () => pool.end()];
}

function drizzleMysql(pool: mysql.Pool): [PaymentTransactions, () => Promise<unknown>] {
  return [drizzleTransactions(pool, (client) => drizzleOnMysql(client)), () => pool.end()];
}

const kysely: LayerKind = {
  name: 'Kysely',
  open(url) {
    const send = (tx: unknown, statement: string) => (tx as Kysely<unknown>).executeQuery(CompiledQuery.raw(statement));
    if (ON_MARIADB) {
      const pool = callbackMysql.createPool({ uri: mysqlUrl(url), connectionLimit: 4 });
      const transactions = kyselyTransactions(
        pool,
        (single) => new Kysely<unknown>({ dialect: new MysqlDialect({ pool: single }) }),
      );
      return { transactions, send, close: () => pool.promise().end() };
    }
    const pool = poolOf(url);
    const transactions = kyselyTransactions(
      pool,
      (single) => new Kysely<unknown>({ dialect: new PostgresDialect({ pool: single }) }),
    );
    return { transactions, send, close: () => pool.end() };
  },
};

/** It prints each session that ends. */
const SILENT = { error: () => undefined, warn: () => undefined };

const knexLayer: LayerKind = {
  name: 'Knex',
  open(url) {
    const instance = ON_MARIADB
      ? knex({ client: 'mysql2', log: SILENT, connection: mysqlUrl(url), pool: { min: 0, max: 4 } })
      : knex({
          client: 'pg',
          log: SILENT,
          connection: { connectionString: url, application_name: 'handlers' },
          pool: { min: 0, max: 4 },
        });
    return {
      transactions: knexTransactions(instance),
      send: (tx, statement) => Promise.resolve((tx as knex.Knex.Transaction).raw(statement)),
      nested: (tx, work) => (tx as knex.Knex.Transaction).transaction(work),
      close: () => instance.destroy(),
    };
  },
};

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

const mikroOrm: LayerKind = {
  name: 'MikroORM',
  commitsUnawaited: true,
  absent: major * 100 + minor < 2217 ? 'MikroORM 7 needs Node.js 22.17' : undefined,
  async open(url) {
    const { MikroORM } = ON_MARIADB ? await import('@mikro-orm/mariadb') : await import('@mikro-orm/postgresql');
    const { EntitySchema } = await import('@mikro-orm/core');
    const Unused = new EntitySchema({ name: 'Unused', properties: { id: { type: 'number', primary: true } } });
    const driverOptions = ON_MARIADB ? {} : { application_name: 'handlers' };
    const init = MikroORM.init as (options: object) => Promise<{ em: Em; close(): Promise<void> }>;
    const orm = await init.call(MikroORM, { clientUrl: url, entities: [Unused], driverOptions, pool: { max: 4 } });
    return {
      transactions: mikroOrmTransactions(orm.em),
      send: (tx, statement) => (tx as Em).execute(statement),
      nested: (tx, work) => (tx as Em).transactional(work),
      close: () => orm.close(),
    };
  },
};

interface Em {
  fork(): Em;
  flush(): Promise<void>;
  transactional<T>(work: (em: Em) => Promise<T>, options?: object): Promise<T>;
  getTransactionContext(): unknown;
  getConnection(): unknown;
  execute(statement: string): Promise<unknown>;
}

const prisma: LayerKind = {
  name: 'Prisma',
  open(url) {
    const client = prismaClient(url);
    return {
      transactions: prismaTransactions(client, { provider: ON_MARIADB ? 'mysql' : 'postgresql', connections: 4 }),
      send: (tx, statement) => (tx as PrismaTx).$executeRawUnsafe(statement),
      nested: (tx, work) => (tx as PrismaClient).$transaction(work),
      close: () => client.$disconnect(),
    };
  },
};

interface PrismaTx {
  $queryRawUnsafe<T>(sql: string, ...values: unknown[]): Promise<T>;
  $executeRawUnsafe(sql: string, ...values: unknown[]): Promise<number>;
}

interface PrismaClient extends PrismaTx {
  $transaction<T>(work: (tx: PrismaTx) => Promise<T>, options?: object): Promise<T>;
  $disconnect(): Promise<void>;
}

/** A client as `prisma generate` writes it, without models: to generate one needs Prisma's command line, which is large. */
function prismaClient(url: string): PrismaClient {
  const provider = ON_MARIADB ? 'mysql' : 'postgresql';
  const compiler = `@prisma/client/runtime/query_compiler_fast_bg.${provider}`;
  const Client = prismaRuntime.getPrismaClient({
    previewFeatures: [],
    clientVersion: '7.10.1',
    engineVersion: '0'.repeat(40),
    activeProvider: provider,
    inlineSchema: `datasource db {\n  provider = "${provider}"\n}\n`,
    runtimeDataModel: { models: {}, enums: {}, types: {} },
    parameterizationSchema: { strings: [], graph: 'AAAA' },
    compilerWasm: {
      getRuntime: async () => (await import(`${compiler}.mjs`)) as never,
      getQueryCompilerWasmModule: async () => {
        const { wasm } = (await import(`${compiler}.wasm-base64.mjs`)) as { wasm: string };
        const { Module } = Reflect.get(globalThis, 'WebAssembly') as { Module: new (code: Buffer) => never };
        return new Module(Buffer.from(wasm, 'base64'));
      },
      importName: './query_compiler_fast_bg.js',
    },
  });
  const adapter = ON_MARIADB ? new PrismaMariaDb(url) : new PrismaPg({ connectionString: url, ...settings });
  return new (Client as unknown as new (options: object) => PrismaClient)({ adapter });
}

export const LAYERS: readonly LayerKind[] = [plain, drizzle, kysely, knexLayer, prisma, mikroOrm];
