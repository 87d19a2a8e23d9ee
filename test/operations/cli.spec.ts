import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { dirname } from 'node:path';
import { PaymentNonRetryableError, OnPaymentSucceeded } from 'nestjs-payment-acceptance';
import { startHarness, type Harness } from '../support/harness.js';
import { createTestDatabase } from '../support/database.js';
import { commandsOf, environmentOf, runCommand, type Commands, type Ran } from '../support/commands.js';

let healthy = true;

@Injectable()
class Orders {
  @OnPaymentSucceeded({ consumer: 'orders' })
  take(): Promise<void> {
    return healthy ? Promise.resolve() : Promise.reject(new PaymentNonRetryableError('the stock is unknown'));
  }
}

let harness: Harness;
let commands: Commands;

describe('cli', () => {
  beforeAll(async () => {
    harness = await startHarness({ providers: [Orders] });
    commands = commandsOf(harness);
  });
  afterAll(async () => {
    commands.close();
    await harness.close();
  });
  beforeEach(() => {
    healthy = true;
  });

  const command = (line: string, more: NodeJS.ProcessEnv = {}): Promise<Ran> =>
    runCommand(line.split(' '), { ...environmentOf(harness), ...more });
  const json = (line: string) => commands.json(...line.split(' '));

  async function paidUnseen(orderId: string, shop = 'main'): Promise<string> {
    const { billId } = await harness.host.payments.shop(shop).createBill({ orderId, amount: '10' });
    await harness.sandbox.setFaults({ postbacks: { drop: 1 } });
    await harness.sandbox.pay(billId);
    await harness.sandbox.clearFaults();
    return billId;
  }

  describe('payment-acceptance', () => {
    test('--help lists the commands', async () => {
      expect(await command('--help')).toMatchObject({
        code: 0,
        out: expect.stringContaining('reconcile --day'),
        err: '',
      });
    });

    test('migrate brings an empty database up to date, and can be repeated', async () => {
      const database = await createTestDatabase();
      const fresh = { DATABASE_URL: database.url };
      expect(await command('status', fresh)).toMatchObject({
        code: 2,
        err: expect.stringContaining('migratePaymentAcceptance'),
      });
      expect(await command('migrate', fresh)).toMatchObject({ code: 0, out: 'The tables are up to date.\n', err: '' });
      expect(await command('migrate', fresh)).toMatchObject({ code: 0 });
      expect((await command('status', fresh)).code).toBe(0);
      const elsewhere = { ...fresh, PAYMENT_ACCEPTANCE_SCHEMA: 'elsewhere' };
      expect((await command('status', elsewhere)).code).toBe(2);
      expect((await command('migrate', elsewhere)).code).toBe(0);
      expect((await command('status', elsewhere)).code).toBe(0);
      await database.drop();
    });

    test('check settles a bill, and the application handles its event', async () => {
      const billId = await paidUnseen('checked');
      const { code, out } = await command(`check ${billId}`);
      expect(code).toBe(0);
      expect(out).toMatch(/state +OPEN, now PAID\n/);
      expect(out).toMatch(/payment \S+: SUCCESS, 10\.00 RUB\n$/);
      await harness.settle();
      expect((await harness.host.ledger()).events[0]).toMatchObject({
        orderId: 'checked',
        deliveries: [{ consumer: 'orders', state: 'DONE' }],
      });
      expect(await command('check no-such-bill')).toMatchObject({
        code: 1,
        err: 'Shop "main" has no bill no-such-bill.\n',
      });
      expect(await command(`check ${billId} --shop nobody`)).toMatchObject({ code: 2 });
    });

    test('status shows what is wrong, also by its exit code, and replay retries dead letters', async () => {
      expect(await json('status')).toMatchObject({ code: 0, document: { status: 'up', degraded: [], deadLetters: 0 } });
      healthy = false;
      await command(`check ${await paidUnseen('dead')}`);
      await harness.settle();
      const { code, out } = await command('status');
      expect(code).toBe(1);
      expect(out).toMatch(/^status +degraded\ndegraded +dead-letters\n/);
      healthy = true;
      expect(await command('replay')).toMatchObject({ code: 2, err: expect.stringContaining('or pass --all') });
      expect(await command('replay --all --order dead')).toMatchObject({ code: 2 });
      expect(await json('replay --order other')).toEqual({ code: 0, document: { dryRun: false, replayed: 0 } });
      expect(await command('replay --order dead --operator ann')).toMatchObject({
        code: 0,
        out: '1 delivery will be retried.\n',
      });
      await harness.settle();
      expect((await command('status')).code).toBe(0);
      const actions: unknown[] = await harness.host.dataSource.query(
        `SELECT operator FROM payment_acceptance.operator_action WHERE action = 'replay' ORDER BY at DESC LIMIT 1`,
      );
      expect(actions).toEqual([{ operator: 'ann' }]);
    });

    test('deliver delivers past events that the consumer has not had', async () => {
      expect(await command('deliver')).toMatchObject({ code: 2, err: expect.stringContaining('--consumer NAME') });
      expect(await command('deliver --consumer orders --from yesterday')).toMatchObject({
        code: 2,
        err: expect.stringContaining('--from: must be a time with a time zone'),
      });
      expect(await command('deliver --consumer nobody')).toMatchObject({ code: 1 });
      expect(await json('deliver --consumer orders --from 2026-01-01T00:00:00Z --dry-run')).toEqual({
        code: 0,
        document: { dryRun: true, made: 0 },
      });
      expect(await command('deliver --consumer orders')).toEqual({
        code: 0,
        out: '0 events will be delivered to "orders".\n',
        err: '',
      });
    });

    test('reconcile writes CSV, totals to standard error, and exits with 1 on a difference', async () => {
      const day = new Date().toISOString().slice(0, 10);
      const quoted = await harness.host.payments.createBill({ orderId: 'say "10,5"', amount: '10' });
      await harness.sandbox.pay(quoted.billId);
      await harness.settle();
      const agreed = await command(`reconcile --day ${day} --shop main`);
      expect(agreed).toMatchObject({
        code: 0,
        err: expect.stringContaining(', 0 with a difference\nSUCCESS in RUB: service '),
      });
      const [header, ...lines] = agreed.out.split('\r\n');
      expect(header).toBe(
        'shop,order_id,bill_id,bill_state,payment_id,created_at,first_seen_at,service_status,ledger_status,service_amount,' +
          'ledger_amount,service_currency,ledger_currency,verdict,differences,error',
      );
      expect(lines.find((line) => line.includes('10,5'))).toMatch(
        /^main,"say ""10,5""",\S+,PAID,\S+,[-\d]+ [:\d]+,[-\dT:.]+Z,SUCCESS,SUCCESS,10\.00,10\.00,RUB,RUB,succeeded,,$/,
      );
      const missing = await paidUnseen('missed', 'eu');
      const { code, document } = await json(`reconcile --day ${day} --shop eu`);
      expect(code).toBe(1);
      expect(document).toMatchObject({
        different: 1,
        rows: [{ billId: missing, differences: ['missing-in-ledger'] }],
        totals: [{ currency: 'EUR', serviceAmount: '10.00', ledgerAmount: '0.00' }],
      });
      expect((await command('reconcile')).code).toBe(2);
      expect(await command('reconcile --day 2026-02-30')).toMatchObject({
        code: 2,
        err: expect.stringContaining('--day: must be a date'),
      });
    });

    test('doctor reports every expectation, and exits with 1 if one is different', async () => {
      const { code, out } = await command('doctor --shop main');
      expect(out).toMatch(/^callbacks +POST .*\/postback\/payment\[\/SHOP\]$/m);
      expect(code).toBe(0);
      expect(out).toMatch(/confirmed +main: unknown-bill \(section 7, documented\)\n.*bill_not_found\.\n +Seen: 403 /);
      const wrong = { PAYMENT_ACCEPTANCE_MAIN_API_TOKEN: 'another-token-0123456789' };
      const found = await command('doctor --shop main', wrong);
      expect(found).toMatchObject({ code: 1, out: expect.stringMatching(/different +main: token/) });
      expect(found.out).toContain('The service rejects the token of shop "main": check its option apiToken.');
    });

    test('doctor examines the service alone if no database is configured', async () => {
      const { code, out, err } = await command('doctor --shop main', { DATABASE_URL: undefined });
      expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('/postback/payment[/SHOP]') });
      expect(out).toMatch(/confirmed +main: unknown-bill/);
      expect(out).toMatch(/not-probeable +main: postback-digest/);
      expect(err).toContain('No database is configured');
      const wrong = { DATABASE_URL: undefined, PAYMENT_ACCEPTANCE_MAIN_API_TOKEN: 'another-token-0123456789' };
      expect((await command('doctor --shop main', wrong)).code).toBe(1);
      const asJson = await command('doctor --json', { DATABASE_URL: undefined });
      expect(JSON.parse(asJson.out)).toContainEqual(
        expect.objectContaining({ name: 'reachable', verdict: 'confirmed' }),
      );
      expect(await command('doctor --shop nobody', { DATABASE_URL: undefined })).toMatchObject({ code: 2 });
    });

    test('import reads a JSON array or one object per line, with a dry run first', async () => {
      const bill = { orderId: 'old-1', billId: 'old-bill-1', amount: '10.00', createdAt: '2026-11-20T12:00:00Z' };
      const lines = commands.file(
        'bills.jsonl',
        `${JSON.stringify(bill)}\n${JSON.stringify({ ...bill, billId: 'old-bill-2' })}\n`,
      );
      const array = commands.file('bills.json', JSON.stringify([bill, { ...bill, amount: 10 }]));
      expect(await command(`import ${lines} --dry-run`)).toMatchObject({
        code: 0,
        out: '2 would be imported, 0 already here, 0 refused\n',
      });
      expect(await json(`import ${lines} --shop eu`)).toMatchObject({
        code: 0,
        document: { imported: 2, refused: [] },
      });
      const { code, out } = await command(`import ${array} --shop eu`);
      expect(code).toBe(1);
      expect(out).toMatch(/^0 imported, 1 already here, 1 refused\nbill 2 \(old-bill-1, order old-1\): amount must be/);
      for (const text of ['{', ' \n', Buffer.from('{"orderId":"\u00e9"}', 'latin1')])
        expect(await command(`import ${commands.file('broken', text)}`)).toMatchObject({ code: 2 });
      expect(await command(`import ${dirname(array)} --from-log`)).toMatchObject({ code: 2 });
      expect(await command(`import ${commands.file('none')}`)).toMatchObject({
        code: 2,
        err: expect.stringContaining('ENOENT'),
      });
    });
  });
});
