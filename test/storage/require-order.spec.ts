import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eq, sql as drizzleSql } from 'drizzle-orm';
import { drizzle as drizzleOnMysql } from 'drizzle-orm/mysql2';
import { mysqlTable, varchar } from 'drizzle-orm/mysql-core';
import { drizzle as drizzleOnPg } from 'drizzle-orm/node-postgres';
import { pgTable, text } from 'drizzle-orm/pg-core';
import knex from 'knex';
import { Kysely, MysqlDialect, PostgresDialect, sql } from 'kysely';
import mysqlCallbacks from 'mysql2';
import mysql from 'mysql2/promise';
import { PaymentOrderNotFoundError, requireOrder } from 'nestjs-payment-acceptance';
import pg from 'pg';
import postgres from 'postgres';
import { DataTypes, QueryTypes, Sequelize } from 'sequelize';
import { Column, DataSource, Entity, PrimaryColumn } from 'typeorm';
import { connectionOf, createTestDatabase, ON_MARIADB, type TestDatabase } from '../support/database.js';

@Entity('orders')
class Order {
  @PrimaryColumn('varchar', { length: 40 }) id!: string;
  @Column('varchar', { length: 40 }) status!: string;
}

/** What a data layer returns for an update of the order of this id, or for its rows. */
type Find = (id: string) => Promise<object | number | bigint | null | undefined>;
type Layer = readonly [name: string, found: Readonly<Record<string, Find>>, close: () => Promise<unknown>];

const UPDATE = `UPDATE orders SET status = 'paid' WHERE id = `;

async function typeorm(url: string): Promise<Layer> {
  const source = await new DataSource({ ...connectionOf(url), entities: [Order], synchronize: true }).initialize();
  const { manager } = source;
  await manager.insert(Order, { id: 'order-1', status: 'pending' });
  const literal = (id: string): string => `'${id}'`;
  return [
    'TypeORM',
    {
      update: (id) => manager.update(Order, { id }, { status: 'paid' }),
      query: (id) => manager.query<object>(UPDATE + literal(id)),
      ...(!ON_MARIADB && { returning: (id: string) => manager.query<object>(`${UPDATE}${literal(id)} RETURNING id`) }),
      select: (id) => manager.query<object>(`SELECT * FROM orders WHERE id = ${literal(id)}`),
      builder: (id) => manager.createQueryBuilder().update(Order).set({ status: 'paid' }).where({ id }).execute(),
      findOneBy: (id) => manager.findOneBy(Order, { id }),
      find: (id) => manager.findBy(Order, { id }),
    },
    () => source.destroy(),
  ];
}

/** Its `end` does not wait until its sessions have ended: the server ends them when the database is dropped. */
function pgPool(connectionString: string, max: number): pg.Pool {
  return new pg.Pool({ connectionString, max }).on('error', () => undefined);
}

function onPostgres(url: string): Layer[] {
  const pool = pgPool(url, 2);
  const query = postgres(url, { max: 1, onnotice: () => undefined });
  const orders = pgTable('orders', { id: text().primaryKey(), status: text() });
  const drizzled = drizzleOnPg(pool);
  return [
    [
      'pg',
      {
        update: (id) => pool.query(`${UPDATE}$1`, [id]),
        select: (id) => pool.query('SELECT * FROM orders WHERE id = $1', [id]),
        rows: async (id) => (await pool.query<object>('SELECT * FROM orders WHERE id = $1', [id])).rows,
      },
      () => Promise.resolve(),
    ],
    [
      'postgres.js',
      {
        update: async (id) => query`UPDATE orders SET status = 'paid' WHERE id = ${id}`,
        returning: async (id) => query`UPDATE orders SET status = 'paid' WHERE id = ${id} RETURNING id`,
        select: async (id) => query`SELECT * FROM orders WHERE id = ${id}`,
      },
      () => query.end(),
    ],
    [
      'Drizzle',
      {
        update: (id) => drizzled.update(orders).set({ status: 'paid' }).where(eq(orders.id, id)),
        returning: (id) => drizzled.update(orders).set({ status: 'paid' }).where(eq(orders.id, id)).returning(),
        select: (id) => drizzled.select().from(orders).where(eq(orders.id, id)),
        execute: (id) => drizzled.execute(drizzleSql`UPDATE orders SET status = 'paid' WHERE id = ${id}`),
      },
      () => pool.end(),
    ],
  ];
}

function onMariaDb(uri: string): Layer[] {
  const pool = mysql.createPool({ uri, connectionLimit: 2 });
  const orders = mysqlTable('orders', { id: varchar({ length: 40 }).primaryKey(), status: varchar({ length: 40 }) });
  const drizzled = drizzleOnMysql(pool);
  return [
    [
      'mysql2',
      {
        update: (id) => pool.query(`${UPDATE}?`, [id]),
        execute: (id) => pool.execute(`${UPDATE}?`, [id]),
        select: (id) => pool.query('SELECT * FROM orders WHERE id = ?', [id]),
      },
      () => Promise.resolve(),
    ],
    [
      'Drizzle',
      {
        update: (id) => drizzled.update(orders).set({ status: 'paid' }).where(eq(orders.id, id)),
        select: (id) => drizzled.select().from(orders).where(eq(orders.id, id)),
      },
      () => pool.end(),
    ],
  ];
}

function onBoth(url: string): Layer[] {
  const uri = url.replace(/^mariadb:/, 'mysql:');
  const dialect = ON_MARIADB
    ? new MysqlDialect({ pool: mysqlCallbacks.createPool({ uri, connectionLimit: 1 }) })
    : new PostgresDialect({ pool: pgPool(url, 1) });
  const kysely = new Kysely<{ orders: { id: string; status: string } }>({ dialect });
  const knexed = knex({ client: ON_MARIADB ? 'mysql2' : 'pg', connection: uri });
  const sequelize = new Sequelize(uri, { logging: false });
  const Model = sequelize.define(
    'orders',
    { id: { type: DataTypes.STRING, primaryKey: true }, status: DataTypes.STRING },
    { timestamps: false },
  );
  return [
    [
      'Kysely',
      {
        update: (id) => kysely.updateTable('orders').set({ status: 'paid' }).where('id', '=', id).execute(),
        first: (id) => kysely.updateTable('orders').set({ status: 'paid' }).where('id', '=', id).executeTakeFirst(),
        raw: (id) => sql`UPDATE orders SET status = 'paid' WHERE id = ${id}`.execute(kysely),
        select: (id) => kysely.selectFrom('orders').selectAll().where('id', '=', id).executeTakeFirst(),
      },
      () => kysely.destroy(),
    ],
    [
      'Knex',
      {
        update: async (id) => knexed('orders').where({ id }).update({ status: 'paid' }),
        first: async (id) => knexed<object>('orders').where({ id }).first<object | undefined>(),
        raw: async (id) => knexed.raw<object>(`${UPDATE}?`, [id]),
      },
      () => knexed.destroy(),
    ],
    [
      'Sequelize',
      {
        // On MariaDB it does not count a row that stays as it is.
        update: (id) => Model.update({ status: 'newly paid' }, { where: { id } }),
        ...(!ON_MARIADB && {
          returning: (id: string) => Model.update({ status: 'paid' }, { where: { id }, returning: true }),
        }),
        findOne: (id) => Model.findOne({ where: { id } }),
        query: (id) =>
          sequelize.query('SELECT * FROM orders WHERE id = :id', { replacements: { id }, type: QueryTypes.SELECT }),
      },
      () => sequelize.close(),
    ],
  ];
}

describe('requireOrder with the data layers', () => {
  let database: TestDatabase;
  let layers: Layer[];
  beforeAll(async () => {
    database = await createTestDatabase();
    const { url } = database;
    const own = ON_MARIADB ? onMariaDb(url.replace(/^mariadb:/, 'mysql:')) : onPostgres(url);
    layers = [await typeorm(url), ...own, ...onBoth(url)];
  });
  afterAll(async () => {
    for (const [, , close] of layers) await close();
    await database.drop();
  });

  test('requireOrder recognises a found and a missing order in the results of every data layer', async () => {
    const answers: Record<string, string> = {};
    for (const [layer, found] of layers) {
      for (const [name, find] of Object.entries(found)) {
        const answer = async (id: string): Promise<string> => {
          const result = await find(id);
          try {
            return requireOrder({ orderId: id }, result) === result ? 'there' : 'something else';
          } catch (error) {
            return error instanceof PaymentOrderNotFoundError ? 'missing' : String(error);
          }
        };
        answers[`${layer} ${name}`] = `${await answer('order-1')}, ${await answer('order-2')}`;
      }
    }
    expect(Object.keys(answers).length).toBeGreaterThan(15);
    expect(answers).toEqual(Object.fromEntries(Object.keys(answers).map((name) => [name, 'there, missing'])));
  });
});
