import { expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase } from './database.js';

it('gives every caller an empty database, and drops it under open connections', async () => {
  const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  expect(one.url).not.toBe(other.url);

  const client = new pg.Client({ connectionString: one.url });
  const lost = new Promise((resolve) => client.on('error', resolve));
  await client.connect();
  await client.query('CREATE TABLE a (b int)');
  await one.drop();
  await expect(lost).resolves.toBeInstanceOf(Error);

  await other.drop();
  const again = new pg.Client({ connectionString: other.url });
  await expect(again.connect()).rejects.toMatchObject({ code: '3D000' });
});
