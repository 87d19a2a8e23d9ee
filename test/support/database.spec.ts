import { expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase } from './database.js';

it('a test database is empty, and can be dropped under open connections', async () => {
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

it('a test database can be a copy of a template that is filled once', async () => {
  let filled = 0;
  const template = {
    name: 'counted',
    async fill(url: string) {
      filled += 1;
      await run(url, 'CREATE TABLE a (b int); INSERT INTO a VALUES (7)');
    },
  };
  const databases = await Promise.all([createTestDatabase(template), createTestDatabase(template)]);
  await run(databases[0].url, 'DELETE FROM a');
  expect((await run(databases[1].url, 'SELECT b FROM a')).rows).toEqual([{ b: 7 }]);
  expect(filled).toBe(1);
  await Promise.all(databases.map((database) => database.drop()));
});

async function run(url: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client.query(sql).finally(() => client.end());
}
