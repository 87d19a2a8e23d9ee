import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PaymentDoctor, type DoctorFinding } from 'nestjs-payment-acceptance/operations';
import { EU_TOKEN, MAIN_TOKEN, moduleOptions, startHarness, type Harness } from '../support/harness.js';
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
    test('before any payment: what needs one is not probeable, everything else is confirmed', async () => {
      const findings = await examine();
      expect(named(findings, 'different')).toEqual([]);
      expect(named(findings, 'confirmed')).toEqual([
        'reachable',
        'clock',
        'no-token',
        'wrong-token',
        'unknown-bill',
        'no-id',
        'error-shape',
        'content-type',
      ]);
      expect(findings.tls).toMatchObject({ verdict: 'not-probeable', detail: 'apiBaseUrl is an http address' });
    });

    test('with payments and postbacks: everything observable is confirmed', async () => {
      const { billId } = await harness.host.payments.createBill({ orderId: 'paid', amount: '10', custom: 'cart 7' });
      await harness.sandbox.pay(billId, { outcome: 'fail' });
      await harness.sandbox.pay(billId);
      await harness.settle();
      const findings = await examine();
      expect(named(findings, 'different')).toEqual([]);
      expect(named(findings, 'not-probeable')).toEqual([
        'tls',
        'creation-errors',
        'creation-repeated',
        'postback-reply',
        'rate-limit',
        'merchant-refused',
        'too-many-payments',
      ]);
      expect(findings['payment-card']).toMatchObject({
        verdict: 'confirmed',
        detail: 'looked at 2 payments of 1 bills',
      });
    });

    test('creates nothing, changes nothing, and uses each token for its own shop only', async () => {
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
    test('is detected by its answers, its lists, its clock and its time zone', async () => {
      const recorder = await new Recorder().open();
      closeLater(() => recorder.close());
      const { shops } = moduleOptions(recorder.url);
      const other = await harness.start({ options: { shops: { main: { ...shops.main!, timeZone: '+05:00' } } } });
      const far = new Date(Date.now() + 600_000).toUTCString();
      const odd = JSON.stringify({
        success: 'true',
        data: [
          {
            id: '1',
            bill_id: 'another',
            status: 'UNDERPAID',
            amount: 10.001,
            amount_received: null,
            currency_in: 'USD',
            from_card: '4111111111111111',
            created_at: '2026-11-21 10:00:00',
          },
        ],
      });
      recorder.answer(
        {
          status: 404,
          body: `<html>no such page ${MAIN_TOKEN}</html>`,
          headers: { 'content-type': 'text/html', date: far },
        },
        { status: 200, body: '{"success":true}' },
        { status: 401, body: '{"message":"Unauthenticated."}' },
        { status: 401, body: '{"error":"who?"}' },
        { status: 200, body: odd },
      );
      const findings = await examine(other.app.get(PaymentDoctor));
      expect(named(findings, 'different')).toEqual([
        'clock',
        'no-token',
        'unknown-bill',
        'no-id',
        'error-shape',
        'content-type',
        'list-success',
        'payment-bill',
        'payment-status',
        'payment-amount',
        'payment-received',
        'payment-currency',
        'payment-card',
        'time-zone',
      ]);
      expect(findings['wrong-token']).toEqual({ verdict: 'confirmed', detail: '401 Unauthenticated.' });
      expect(findings.clock!.detail).toMatch(/6\d\d s ahead|5\d\d s ahead/);
      expect(findings['payment-card']!.detail).toBe('1 of 1 differ: "9999999999999999"');
      expect(findings['payment-status']!.detail).toBe('1 of 1 differ: "xxxxxxxxx"');
      expect(findings['time-zone']!.detail).toMatch(/with timeZone "\+05:00" a payment is [\d.]+ h before its bill/);
      const everything = JSON.stringify(findings);
      expect(everything).not.toContain(MAIN_TOKEN);
      expect(everything).not.toContain('4111');
    });

    test('and is unreachable is the only finding; the rest is not probeable', async () => {
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
