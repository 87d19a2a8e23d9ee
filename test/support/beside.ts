import type { INestApplicationContext } from '@nestjs/common';
import type pg from 'pg';
import type { DataSource } from 'typeorm';
import type { ConnectionSource } from '../../libs/payment-acceptance/src/database/connection-source.js';
import { Database } from '../../libs/payment-acceptance/src/database/database.js';
import { openBeside } from '../../libs/payment-acceptance/src/database/typeorm-source.js';

/** Connections such as the module opens beside a data source, closed with it. */
export function beside(dataSource: DataSource, connections?: number): ConnectionSource {
  const source = openBeside(dataSource, connections);
  const destroy = dataSource.destroy.bind(dataSource);
  dataSource.destroy = async () => {
    await source.close();
    await destroy();
  };
  return source;
}

/** The connections of `pg` that a source has opened. */
export function clientsOf(source: ConnectionSource): readonly pg.PoolClient[] {
  return (source as unknown as { pool: { _clients: readonly pg.PoolClient[] } }).pool._clients;
}

/** Takes all connections of the module's, as statements that hang would; returns what gives them back. */
export async function takeAll(app: INestApplicationContext): Promise<() => void> {
  const { source } = app.get(Database);
  const taken = await Promise.all(Array.from({ length: source.size }, () => source.connect()));
  return () => {
    for (const connection of taken) source.release(connection, false);
  };
}
