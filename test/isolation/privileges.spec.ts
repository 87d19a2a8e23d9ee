import { afterEach, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { onPostgres } from '../support/database.js';
import { startHarness, type Harness } from '../support/harness.js';
import { EffectWriter } from '../support/orders.js';

const guide = path.resolve(import.meta.dirname, '../../docs/getting-started.md');

describe('a database user with only the documented privileges', () => {
  let harness: Harness | undefined;
  afterEach(() => harness?.close());

  onPostgres(test)(
    'a database user with only the documented privileges takes a payment, and cannot create tables',
    async () => {
      const role = `app_${process.pid}_${Date.now()}`;
      let limited = false;
      harness = await startHarness({
        providers: [EffectWriter],
        through: (url) => (limited ? `${url}${url.includes('?') ? '&' : '?'}options=-c%20role%3D${role}` : url),
      });
      const owner = harness.host.dataSource;
      const [, printed = ''] = /<!-- privileges -->\s*```sql\n([^`]+)```/.exec(readFileSync(guide, 'utf8')) ?? [];
      await owner.query(`CREATE ROLE ${role}`);
      await owner.query(printed.replaceAll('app_user', role));
      await owner.query(`GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO ${role}`);
      await owner.query(`GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ${role}`);
      try {
        limited = true;
        const app = await harness.start({ providers: [EffectWriter], options: { migrations: 'verify' } });
        const user = await app.dataSource.query<{ user: string }[]>('SELECT current_user AS user');
        expect(user).toEqual([{ user: role }]);
        const { billId } = await app.payments.createBill({ orderId: 'A-1', amount: '10' });
        await harness.sandbox.pay(billId);
        await harness.settle();
        expect(await harness.effects()).toMatchObject([{ event: 'payment.succeeded', orderId: 'A-1' }]);
        await expect(app.dataSource.query('CREATE TABLE payment_acceptance.mine (id int)')).rejects.toThrow(
          'permission',
        );
      } finally {
        await owner.query(`DROP OWNED BY ${role}`);
        await owner.query(`DROP ROLE ${role}`).catch(() => undefined);
      }
    },
  );
});
