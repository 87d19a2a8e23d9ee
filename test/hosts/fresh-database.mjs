import { randomUUID } from 'node:crypto';
import pg from 'pg';

/** Makes an empty database on a server, and gives its address. */
export async function freshDatabase(/** @type {string} */ serverUrl) {
  const name = `host_${randomUUID().replaceAll('-', '')}`;
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`).finally(() => client.end());
  const url = new URL(serverUrl);
  url.pathname = name;
  return url.href;
}
