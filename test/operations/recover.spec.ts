import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { PaymentImport, PaymentRecovery, type RecoveryReport } from 'nestjs-payment-acceptance/operations';
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { RecoveryStore } from '../../libs/payment-acceptance/src/operations/storage/recovery.store.js';
import { commandsOf, type Commands } from '../support/commands.js';
import { ON_MARIADB } from '../support/database.js';
import { startHarness, type Harness } from '../support/harness.js';
import { until } from '../support/until.js';
import { EffectWriter } from '../support/orders.js';
import { postbackFields, postJson } from '../support/http.js';

let harness: Harness;
let commands: Commands;
/** The application's log. */
let log: string[];

type Report = RecoveryReport & { written: string | null };

const HOUR = 3_600_000;
const ago = (ms: number): string => new Date(harness.clock.now().getTime() - ms).toISOString();
const recover = async (...more: string[]) => {
  const { code, document } = await commands.json('recover', '--since', ago(0), ...more);
  return { code, document: document as Report };
};
const sql = (text: string) => harness.host.dataSource.query(text);
const paidOrders = async () => (await harness.effects()).map(({ orderId }) => orderId).sort();

const updateWaiting = ON_MARIADB
  ? `SELECT id FROM information_schema.processlist WHERE db = current_database() AND info LIKE 'UPDATE%bill_id%UNKNOWN%'`
  : `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;

/** A bill whose commits the database then loses: all of them, or only the last. */
async function lost(orderId: string, which: 'all' | 'last' = 'all'): Promise<string> {
  const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
  await sql(
    which === 'all'
      ? `DELETE FROM payment_acceptance.bill WHERE bill_id = '${billId}'`
      : `UPDATE payment_acceptance.bill SET state = 'CREATING', bill_id = NULL, link_page_url = NULL, opened_at = NULL,
           next_check_at = NULL, lease_until = created_at WHERE bill_id = '${billId}'`,
  );
  return billId;
}

/** Imports a log while somebody's decision is under way, which commits when the import waits for it. */
async function importedBeside(decision: string, lines: readonly string[]) {
  const person = harness.host.dataSource.createQueryRunner();
  await person.startTransaction();
  await person.query(decision);
  const imported = harness.host.app
    .get(PaymentImport)
    .importLog(Readable.from(lines) as AsyncIterable<string>, { operator: 'ann' });
  await until(
    () => sql(updateWaiting) as Promise<unknown[]>,
    (rows) => rows.length === 1,
  );
  await person.commitTransaction();
  await person.release();
  return imported;
}

describe('recovering what a database has lost', () => {
  beforeEach(async () => {
    log = [];
    jest.spyOn(Logger.prototype, 'log').mockImplementation((line: unknown) => void log.push(`LOG ${String(line)}`));
    harness = await startHarness({ providers: [EffectWriter] });
    commands = commandsOf(harness);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    commands.close();
    await harness.close();
  });

  test('recovery checks known bills again, even paid and expired ones, at half of the rate limit', async () => {
    const made = [];
    for (const orderId of ['open', 'paid', 'expired', 'long-ago']) {
      made.push(await harness.host.payments.createBill({ orderId, amount: '10' }));
    }
    const [, paid, expired, longAgo] = made.map(({ billId }) => billId);
    await harness.sandbox.pay(paid!);
    await harness.settle();
    await sql(`UPDATE payment_acceptance.bill SET state = 'EXPIRED', ended_at = opened_at, next_check_at = NULL
      WHERE bill_id IN ('${expired!}', '${longAgo!}')`);
    const past = `'2026-01-01 00:00:00'`;
    await sql(`UPDATE payment_acceptance.bill SET opened_at = ${past}, created_at = ${past}, ended_at = ${past}
      WHERE bill_id = '${longAgo!}'`);
    await harness.sandbox.setFaults({ postbacks: { drop: 1 } });
    await harness.sandbox.pay(expired!);
    const dry = await recover('--dry-run');
    expect(dry.document.shops).toEqual([
      { shop: 'main', rechecked: 3, withinSeconds: 1 },
      { shop: 'eu', rechecked: 0, withinSeconds: 0 },
    ]);
    await harness.settle();
    expect(await paidOrders()).toEqual(['paid']);
    for (const _time of [1, 2]) expect((await recover()).document.shops[0]).toMatchObject({ rechecked: 3 });
    const before = harness.sandbox.bills().length;
    await harness.settle();
    expect(await paidOrders()).toEqual(['expired', 'paid']);
    expect(harness.sandbox.bills().length).toBe(before);
    const [{ checked }] = (await sql(`SELECT count(*) AS checked FROM payment_acceptance.bill
      WHERE bill_id = '${longAgo!}' AND checked_at IS NOT NULL`)) as [{ checked: unknown }];
    expect(Number(checked)).toBe(0);
  });

  test('a recovery that breaks off half-way is recorded, with what it has done', async () => {
    await harness.host.payments.createBill({ orderId: 'one', amount: '10' });
    const store = harness.host.app.get(RecoveryStore, { strict: false });
    store.recheck = () => Promise.reject(new Error('the connection was lost'));
    const recovering = harness.host.app.get(PaymentRecovery).recover({ since: new Date(0), operator: 'ann' });
    await expect(recovering).rejects.toThrow('the connection was lost');
    expect(await sql(`SELECT operator, action, target FROM payment_acceptance.operator_action`)).toEqual([
      { operator: 'ann', action: 'recover', target: 'main' },
    ]);
  });

  test('a recovery spreads its checks, to leave room for those of new bills', async () => {
    await harness.host.payments.createBill({ orderId: 'one', amount: '10' });
    await sql(`INSERT INTO payment_acceptance.shop_order (shop, order_id) VALUES ('main', 'many')`);
    const now = harness.clock.now().toISOString().slice(0, 23).replace('T', ' ');
    const rows = Array.from(
      { length: 45 },
      (_each, index) =>
        `('00000000-0000-4000-8000-0000000000${String(index + 10)}', 'main', 'main', 'many', ${index + 1}, 'OPEN', 10, 'RUB', false, 'normal', '',
          false, 'many-${index}', '${now}', '${now}', '${now}', NULL)`,
    );
    await sql(`INSERT INTO payment_acceptance.bill (intent_id, shop, shop_id, order_id, attempt, state, amount, currency, payer_pays_commission, type,
      custom, custom_given, bill_id, created_at, opened_at, check_after, next_check_at) VALUES ${rows.join(', ')}`);
    expect((await recover()).document.shops[0]).toEqual({ shop: 'main', rechecked: 46, withinSeconds: 3 });
    const places = (await harness.host.ledger()).bills.map(({ nextCheckAt }) => Date.parse(nextCheckAt!)).sort();
    const seconds = [...new Set(places)];
    expect(seconds.map((at) => places.filter((place) => place === at).length)).toEqual([20, 20, 6]);
    expect(seconds[2]! - seconds[0]!).toBeGreaterThanOrEqual(2_000);
  });

  test('a recovery exports logged bills, which are imported and settle, and attaches an unknown outcome', async () => {
    const [gone, half] = [await lost('gone'), await lost('half', 'last')];
    await harness.host.payments.createBill({ orderId: 'kept', amount: '10' });
    await harness.host.confirmer.runOnce();
    await sql(`UPDATE payment_acceptance.bill SET state = 'UNKNOWN' WHERE state = 'CREATING'`);
    for (const billId of [gone, half]) await harness.sandbox.pay(billId);
    await harness.settle();
    const file = commands.file('app.log', log.join('\n'));
    const twice = commands.file('twice.log', [...log, ...log].join('\n'));
    const imported = (...more: string[]) => commands.json('import', file, '--from-log', ...more);
    const bills = [
      { shop: 'main', orderId: 'gone', billId: gone, amount: '10.00', currency: 'RUB' },
      { shop: 'main', orderId: 'half', billId: half, amount: '10.00', currency: 'RUB' },
    ];
    expect(await imported('--dry-run')).toMatchObject({
      code: 0,
      document: { dryRun: true, imported: 2, present: 1, bills },
    });
    expect((await commands.json('import', twice, '--from-log', '--dry-run')).document).toMatchObject({
      imported: 2,
      bills,
    });
    expect(await imported('--shop', 'eu')).toMatchObject({ code: 0, document: { imported: 0, present: 0, bills: [] } });
    expect(await imported()).toMatchObject({ code: 0, document: { imported: 2, present: 1, refused: [], bills } });
    expect(await imported()).toMatchObject({ code: 0, document: { imported: 0, present: 3, bills: [] } });
    expect((await recover()).document).toMatchObject({ bills: [], unknownOutcomes: 0 });
    await harness.settle();
    expect(await paidOrders()).toEqual(['gone', 'half']);
    // The service knows a bill by the intent's id of its creation.
    const intents = (await sql('SELECT intent_id, custom FROM payment_acceptance.bill')) as Record<string, string>[];
    expect(intents.every(({ intent_id: intentId, custom }) => custom === intentId)).toBe(true);
    expect(intents.map(({ custom }) => custom).sort()).toEqual(
      harness.sandbox
        .bills()
        .map(({ custom }) => custom)
        .sort(),
    );
    // The found bill keeps its payment page, so createBill returns it for the order.
    expect((await harness.host.payments.createBill({ orderId: 'kept', amount: '10' })).attempt).toBe(1);
  });

  test.each([
    ['attached meanwhile', `state = 'OPEN', bill_id = '$'`, { present: 1 }],
    [
      'voided meanwhile',
      `state = 'VOIDED'`,
      { refused: [{ problems: [expect.stringContaining('no longer has one')] }] },
    ],
  ])(
    'an unknown outcome %s is not reported as imported, and the bills after it are imported',
    async (_how, change, said) => {
      const half = await lost('half', 'last');
      const after = await lost('after');
      await sql(`UPDATE payment_acceptance.bill SET state = 'UNKNOWN' WHERE state = 'CREATING'`);
      const decision = `UPDATE payment_acceptance.bill SET ${change.replace('$', half)} WHERE order_id = 'half' AND state = 'UNKNOWN'`;
      expect(await importedBeside(decision, log)).toMatchObject({
        imported: 1,
        bills: [{ billId: after }],
        present: 0,
        refused: [],
        ...said,
      });
      expect(await sql(`SELECT action FROM payment_acceptance.operator_action`)).toEqual([{ action: 'import-bill' }]);
    },
  );

  test('a bill attached to another unknown outcome meanwhile is refused, and later ones are imported', async () => {
    const half = await lost('half', 'last');
    const after = await lost('after');
    await lost('rival', 'last');
    await sql(`UPDATE payment_acceptance.bill SET state = 'UNKNOWN' WHERE state = 'CREATING'`);
    const decision = `UPDATE payment_acceptance.bill SET state = 'OPEN', bill_id = '${half}' WHERE order_id = 'rival'`;
    const lines = log.filter((line) => !line.includes('order rival'));
    expect(await importedBeside(decision, lines)).toMatchObject({
      imported: 1,
      bills: [{ billId: after }],
      refused: [{ problems: [expect.stringContaining('order "rival"')] }],
    });
  });

  test('a bill that only a postback names is refused until a person has confirmed it', async () => {
    const billId = await lost('unlogged');
    await harness.sandbox.pay(billId);
    await harness.settle();
    const made = postbackFields({ InvId: 'made-up', OutSum: '5.00', TrsId: 'made-up-bill' });
    for (const InvId of ['made-up', 'another'])
      await postJson(`${harness.host.url}/postback/payment`, { ...made, InvId });
    const out = commands.file('bills.jsonl');
    const { document } = await recover('--out', out);
    expect(document.bills).toMatchObject([
      { verified: false, orderId: 'unlogged', billId, amount: '10.00', currency: 'RUB' },
      {
        verified: false,
        billId: 'made-up-bill',
        amount: '5.00',
        note: expect.stringContaining('several orders: made-up, another'),
      },
    ]);
    expect(await commands.command('import', out)).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^0 imported, 0 already here, 2 refused\nbill 1 .* The bill is not verified: check/),
    });
    expect((await commands.command('recover', '--since', ago(0), '--out', out)).code).toBe(2);
    const confirmed = readFileSync(out, 'utf8').split('\n')[0]!.replace('"verified":false', '"verified":true');
    expect((await commands.command('import', commands.file('confirmed', confirmed))).code).toBe(0);
    await harness.settle();
    expect(await paidOrders()).toEqual(['unlogged']);
  });

  test('a recovery refuses a forged log line, and takes one whose creation is under way later', async () => {
    const [billId] = [await lost('A-1'), await lost('under way', 'last')];
    const [line = '', other = ''] = log.filter((each) => each.includes('bill created'));
    const forged = line.replace(/ [\w-]+\./, (text) => text.replace(/.{8}(?=\.)/, 'AAAAAAAA'));
    const file = commands.file('app.log', [forged, line, 'LOG of something else', other].join('\n'));
    const { code, document } = await commands.json('import', file, '--from-log');
    expect([code, document]).toMatchObject([
      1,
      {
        imported: 1,
        bills: [{ billId, orderId: 'A-1' }],
        refused: [
          { index: 0, problems: [expect.stringContaining('no seal from a current token')] },
          { index: 3, problems: [expect.stringContaining('still being created')] },
        ],
      },
    ]);
    const text = await commands.command('import', commands.file('cut', line.slice(0, -30)), '--from-log', '--dry-run');
    expect(text).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^0 would be imported, 0 already here, 1 refused\nbill 1 /),
    });
  });

  test('a recovery reports what it did, what it cannot know, and the next steps', async () => {
    await harness.sandbox.pay(await lost('gone'));
    await harness.settle();
    const { code, out } = await commands.command('recover', '--since', ago(HOUR), '--shop', 'main', '--dry-run');
    expect(code).toBe(0);
    expect(out).toBe(
      'main: 0 known bills would be rechecked within 0 s\n' +
        'bills named by postbacks but not known here: 1\n\nNext:\n' +
        '1. Run this command again without --dry-run, with --out FILE.\n' +
        '2. Look up each bill listed in FILE in the merchant\'s account and among the orders. Correct its line and set "verified" to true, or remove the line.\n' +
        '3. Restore the orders, then run payment-acceptance import FILE.\n' +
        '4. This does not find bills that are in neither a log nor a postback. ' +
        "The merchant's account shows them: export its payments since then, and compare them with the ledger: " +
        'payment-acceptance reconcile --against FILE.\n',
    );
    expect((await commands.command('recover')).code).toBe(2);
    expect((await commands.command('recover', '--since', 'yesterday')).code).toBe(2);
    const recovery = harness.host.app.get(PaymentRecovery);
    const ofEu = await recovery.forShop('eu').recover({ since: new Date(), operator: 'ann' });
    expect(ofEu).toMatchObject({ bills: [], shops: [{ shop: 'eu' }] });
    await expect(recovery.recover({ since: new Date(), operator: ' ' })).rejects.toThrow('who is doing this');
  });
});
