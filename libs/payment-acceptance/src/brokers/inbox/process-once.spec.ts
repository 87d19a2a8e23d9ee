import { afterAll, beforeAll, describe } from '@jest/globals';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../../../test/support/database.js';
import { inboxContract } from '../../../../../test/support/inbox-contract.js';

describe('processOnce on PostgreSQL', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  beforeAll(async () => {
    database = await createTestDatabase();
    dataSource = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  });
  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  inboxContract(() => dataSource);
});
