import { afterAll, beforeAll } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { DataSource } from 'typeorm';
import { inboxContract } from '../support/inbox-contract.js';
import { describeOn, service } from './support/service.js';

/** Creates a database and drops it afterwards. On PostgreSQL the unit test of the inbox covers this. */
describeOn(await service('TEST_MARIADB_URL'), (given) => {
  const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`;
  const url = given.replace(/^mariadb:/, 'mysql:');
  const server = new DataSource({ type: 'mariadb', url });
  const own = new URL(url);
  own.pathname = `/${name}`;
  const dataSource = new DataSource({ type: 'mariadb', url: own.href });
  beforeAll(async () => {
    await server.initialize();
    await server.query(`CREATE DATABASE ${name}`);
    await dataSource.initialize();
  });
  afterAll(async () => {
    await dataSource.destroy();
    await server.query(`DROP DATABASE ${name}`);
    await server.destroy();
  });

  inboxContract(() => dataSource);
});
