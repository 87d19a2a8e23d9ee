import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { migratePaymentAcceptance, PaymentAcceptanceModule } from 'nestjs-payment-acceptance';
import { PaymentUnsupportedDataSourceError } from 'nestjs-payment-acceptance/operations';
import pg from 'pg';
import type { DataSource } from 'typeorm';
import { onPostgres } from '../support/database.js';
import { moduleOptions } from '../support/harness.js';
import { Starting } from '../support/starting.js';

/** A character that only Unicode has would fail the callback that contains it, again and again, with no visible reason. */
describe('a database in another encoding than UTF8', () => {
  const starting = new Starting();
  const name = `latin_${process.pid}`;
  let dataSource: DataSource;
  beforeEach(async () => {
    dataSource = await starting.dataSource();
  });
  afterEach(() => starting.close('drop'));

  onPostgres(test)('a database in LATIN1 is refused by the start and by the migration', async () => {
    await dataSource.query(`CREATE DATABASE ${name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`);
    const url = new URL(await starting.url());
    url.pathname = name;
    try {
      const latin = { url: url.href };
      const root = PaymentAcceptanceModule.forRoot(moduleOptions('https://api.example'));
      const failing = starting.start([root], { dataSource: latin });
      await expect(failing).rejects.toBeInstanceOf(PaymentUnsupportedDataSourceError);
      await expect(failing).rejects.toThrow(
        /encoding LATIN1, which cannot store every callback\. Create one with ENCODING 'UTF8'\.$/,
      );
      await expect(migratePaymentAcceptance(await starting.dataSource(latin))).rejects.toThrow(/encoding LATIN1/);
    } finally {
      await dataSource.query(`DROP DATABASE ${name} WITH (FORCE)`);
    }
  });

  onPostgres(test)('a pool with client_encoding LATIN1 is refused', async () => {
    const pool = new pg.Pool({ connectionString: await starting.url(), max: 1 });
    try {
      await pool.query(`SET client_encoding TO 'LATIN1'`);
      const failing = migratePaymentAcceptance({ pool });
      await expect(failing).rejects.toBeInstanceOf(PaymentUnsupportedDataSourceError);
      await expect(failing).rejects.toThrow(/client_encoding LATIN1/);
    } finally {
      await pool.end();
    }
  });
});
