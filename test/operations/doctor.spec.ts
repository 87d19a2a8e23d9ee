import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PaymentDoctor, type DoctorFinding } from 'nestjs-payment-acceptance/operations';
import { EU_TOKEN, MAIN_TOKEN, moduleOptions, startHarness, type Harness } from '../support/harness.js';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { beside } from '../support/beside.js';
import { openDatabase } from '../../libs/payment-acceptance/src/database/open-database.js';
import { DoctorStore } from '../../libs/payment-acceptance/src/operations/storage/doctor.store.js';
import { connectionOf, ON_MARIADB, onPostgres } from '../support/database.js';
import { closing } from '../support/closing.js';
import { EffectWriter } from '../support/orders.js';
import { Recorder } from '../support/recorder.js';

let harness: Harness;

describe('doctor', () => {
  const closeLater = closing();
  beforeAll(async () => {
    harness = await startHarness({
      providers: [EffectWriter],
      options: { http: { attempts: 1, totalTimeoutMs: 5_000 } },
    });
  });
  afterAll(() => harness.close());

  type Seen = Record<string, Pick<DoctorFinding, 'verdict' | 'detail'>>;
  const examine = async (doctor = harness.host.app.get(PaymentDoctor), shop = 'main'): Promise<Seen> =>
    Object.fromEntries((await doctor.examine(shop)).map(({ name, verdict, detail }) => [name, { verdict, detail }]));
  const named = (findings: Seen, verdict: string) =>
    Object.keys(findings).filter((name) => findings[name]!.verdict === verdict);

  describe('against the sandbox', () => {
    test('doctor confirms everything that it can probe before any payment', async () => {
      const findings = await examine();
      expect(named(findings, 'different')).toEqual([]);
      expect(named(findings, 'not-probeable')).toEqual(['tls', 'list', 'limits', 'postback-digest', 'postbacks']);
      expect(findings.tls!.detail).toBe('apiBaseUrl is an http address');
    });

    test('doctor confirms everything after payments and postbacks, without personal data', async () => {
      const { billId } = await harness.host.payments.createBill({ orderId: 'paid', amount: '10', custom: 'cart 7' });
      await harness.sandbox.pay(billId, { outcome: 'fail' });
      await harness.sandbox.pay(billId);
      await harness.settle();
      const findings = await examine();
      expect(named(findings, 'not-probeable')).toEqual(['tls']);
      expect(named(findings, 'different')).toEqual([]);
      expect(findings.list!.detail).toMatch(
        new RegExp(
          `^\\{"data":\\[\\{"id":"[x9]+","bill_id":"${billId}","status":"FAIL","amount":"10.00",.*"from_card":"9{6}\\*{6}9999"`,
        ),
      );
      expect(findings.limits!.detail).toMatch(/^\d+ bytes in \d+ ms$/);
      expect(findings['postback-digest']!.detail).toBe(
        'of 2 confirmed postbacks, 2 have a matching digest and 0 have no digest',
      );
      expect(findings.postbacks!.detail).toBe('latest payments within a day: 1; with a postback: 1');
    });

    test('doctor says of a list that is too large that it exceeds the limits', async () => {
      const strict = (await harness.start({ options: { http: { maxAnswerBytes: 1_024 } } })).app.get(PaymentDoctor);
      const { billId } = await harness.host.payments.createBill({ orderId: 'long', amount: '10' });
      for (let count = 0; count < 6; count += 1) await harness.sandbox.pay(billId, { outcome: 'fail' });
      await harness.settle();
      const { list, limits } = await examine(strict);
      expect([list, limits]).toMatchObject([
        { verdict: 'not-probeable', detail: 'TOO_LARGE' },
        { verdict: 'different', detail: 'TOO_LARGE' },
      ]);
    });

    test('doctor notices a shop whose postbacks do not arrive', async () => {
      const { billId } = await harness.host.payments.shop('eu').createBill({ orderId: 'silent', amount: '10' });
      await harness.sandbox.setFaults({ postbacks: { drop: 1 } });
      await harness.sandbox.pay(billId);
      await harness.sandbox.clearFaults();
      await harness.host.dataSource.query('UPDATE payment_acceptance.bill SET next_check_at = created_at');
      await harness.settle();
      const { postbacks } = await examine(undefined, 'eu');
      expect(postbacks).toMatchObject({ verdict: 'different' });
      expect(postbacks!.detail).toContain('1; none came with a postback');
    });

    test("doctor names a missing right on the module's tables", async () => {
      if (ON_MARIADB) return;
      const { dataSource } = harness.host;
      await dataSource.query('CREATE ROLE reader; GRANT reader TO CURRENT_USER');
      try {
        await dataSource.query('GRANT USAGE ON SCHEMA payment_acceptance TO reader');
        await dataSource.query('GRANT SELECT ON ALL TABLES IN SCHEMA payment_acceptance TO reader');
        const options = {
          ...connectionOf(harness.databaseUrl),
          extra: { options: '-c role=reader' },
        } as DataSourceOptions;
        const reading = await new DataSource(options).initialize();
        const store = new DoctorStore(await openDatabase(beside(reading), harness.clock));
        expect(await store.missingPrivilege()).toBe('permission denied for table bill');
        await dataSource.query('GRANT ALL ON ALL TABLES IN SCHEMA payment_acceptance TO reader');
        expect(await store.missingPrivilege()).toBeUndefined();
        for (const [right, table] of [
          ['INSERT', 'bill'],
          ['UPDATE', 'delivery'],
          ['DELETE', 'callback'],
        ]) {
          await dataSource.query(`REVOKE ${right} ON payment_acceptance.${table} FROM reader`);
          expect(await store.missingPrivilege()).toBe(`permission denied for table ${table}`);
          await dataSource.query(`GRANT ${right} ON payment_acceptance.${table} TO reader`);
        }
        await reading.destroy();
      } finally {
        await dataSource.query('DROP OWNED BY reader; DROP ROLE reader');
      }
    });

    onPostgres(test)('doctor keeps its findings about the service if the tables cannot be read', async () => {
      const rename = (from: string, to: string): Promise<unknown> =>
        harness.host.dataSource.query(`ALTER TABLE payment_acceptance.${from} RENAME TO ${to}`);
      await rename('callback', 'gone');
      try {
        const { token, postbacks } = await examine();
        expect(token).toMatchObject({ verdict: 'confirmed' });
        expect(postbacks).toMatchObject({
          verdict: 'not-probeable',
          detail: expect.stringContaining('cannot be read'),
        });
      } finally {
        await rename('gone', 'callback');
      }
    });

    test('doctor creates and changes nothing, and uses each token for its own shop only', async () => {
      const before = [harness.sandbox.bills().length, JSON.stringify(await harness.host.ledger())];
      const asked = harness.sandbox.requests.length;
      const all = await harness.host.app.get(PaymentDoctor).examine();
      expect([harness.sandbox.bills().length, JSON.stringify(await harness.host.ledger())]).toEqual(before);
      expect(new Set(harness.sandbox.requests.slice(asked).map(({ operation }) => operation))).toEqual(
        new Set(['payments']),
      );
      expect(new Set(all.map(({ shop }) => shop))).toEqual(new Set(['main', 'eu']));
      for (const token of [MAIN_TOKEN, EU_TOKEN]) expect(JSON.stringify(all)).not.toContain(token);
    });
  });

  describe('a service that behaves differently', () => {
    test("doctor detects deviations in the service's answers, list and clock", async () => {
      const recorder = await new Recorder().open();
      closeLater(() => recorder.close());
      const other = await harness.start({ options: { shops: { main: moduleOptions(recorder.url).shops.main! } } });
      const far = new Date(Date.now() + 600_000).toUTCString();
      const odd = {
        id: '1',
        bill_id: 'another',
        status: 'UNDERPAID',
        from_card: '4111111111111111',
        email: 'a@b.example',
      };
      recorder.answer(
        {
          status: 401,
          body: `<html>no such page ${MAIN_TOKEN}</html>`,
          headers: { 'content-type': 'text/html', date: far },
        },
        { status: 200, body: '{"success":true}' },
        { status: 200, body: JSON.stringify({ success: 'true', data: [odd] }) },
      );
      const findings = await examine(other.app.get(PaymentDoctor));
      expect(named(findings, 'different')).toEqual(['clock', 'token', 'wrong-token', 'unknown-bill', 'list']);
      expect(findings.token!.detail).toBe('401 no such page [secret]');
      expect(findings.clock!.detail).toMatch(/6\d\d s ahead|5\d\d s ahead/);
      expect(findings.list!.detail).toBe(
        '{"success":"true","data":[{"id":"9","bill_id":"another","status":"UNDERPAID","from_card":"9999999999999999","email":"x@x.xxxxxxx"}]}',
      );
    });

    test('doctor cannot tell whether the token is accepted if a gateway answers', async () => {
      const recorder = await new Recorder().open();
      closeLater(() => recorder.close());
      const other = await harness.start({ options: { shops: { main: moduleOptions(recorder.url).shops.main! } } });
      for (const status of [302, 403, 503]) {
        recorder.answer({ status, body: '<html>gateway</html>' });
        const { token } = await examine(other.app.get(PaymentDoctor));
        expect([status, token!.verdict]).toEqual([status, 'not-probeable']);
      }
    });

    test.each([
      ['without success', { data: [] }],
      ['that says it has failed', { success: false, data: [] }],
      [
        'that goes on where the module does not follow',
        { success: true, data: [], next_page_url: 'https://other.example/x' },
      ],
    ])('doctor reports a list %s, of which the module settles nothing', async (_name, body) => {
      const recorder = await new Recorder().open();
      closeLater(() => recorder.close());
      const other = await harness.start({ options: { shops: { main: moduleOptions(recorder.url).shops.main! } } });
      recorder.answer({ status: 200, body: JSON.stringify(body) });
      expect((await examine(other.app.get(PaymentDoctor))).list!.verdict).toBe('different');
    });

    test('doctor reports nothing about tokens and bills if the service cannot answer now', async () => {
      const recorder = await new Recorder().open();
      closeLater(() => recorder.close());
      const other = await harness.start({ options: { shops: { main: moduleOptions(recorder.url).shops.main! } } });
      recorder.answer({ status: 429, body: '' });
      expect(named(await examine(other.app.get(PaymentDoctor)), 'different')).toEqual([]);
    });

    test('doctor reports only that the service is unreachable, and the rest as not probeable', async () => {
      const gone = await harness.start({
        options: {
          shops: { main: { ...moduleOptions('http://127.0.0.1:9').shops.main!, apiBaseUrl: 'http://127.0.0.1:9' } },
        },
      });
      const findings = await examine(gone.app.get(PaymentDoctor));
      expect(named(findings, 'different')).toEqual(['reachable']);
      expect(findings.reachable!.detail).toBe('no answer (ECONNREFUSED)');
    });
  });
});
