import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Confirmer } from '../../libs/payment-acceptance/src/settlement/confirmer.js';
import { PaymentAcceptanceService } from 'nestjs-payment-acceptance';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { onStatement } from '../support/statements.js';
import { inspect } from 'node:util';
import { postbackFields, postJson, redirectFields } from '../support/http.js';
import { ADAPTERS, ONE_ADAPTER } from '../support/adapters.js';
import { startAttackedShop, TOKENS, type AttackedShop, type Bought } from './support/attacked-shop.js';
import { findReachable, held } from './support/reachable.js';
import { sendBytes, sendForm } from './support/sending.js';

/** Formats that payers, senders and attackers use. */
const CARDS = ['4111111111111111', '4000 0000 0000 0002', '5555-5555-5555-4444', '378282246310005'];
const [CARD = '', SPACED = '', HYPHENS = '', SHORT = ''] = CARDS;

describe.each(ADAPTERS)('leaks, on %s', (adapter) => {
  let shop: AttackedShop;
  /** Statements with their parameters. */
  const statements: string[] = [];
  let stop: () => void;
  /** All answers, and all errors that were thrown. */
  const answers: string[] = [];
  const errors: unknown[] = [];
  const digests = new Set<string>();

  beforeAll(async () => {
    shop = await startAttackedShop(adapter);
    stop = onStatement(({ sql, values }) => {
      statements.push(inspect([sql, values], { depth: 10, showHidden: true, maxStringLength: null }));
    });
    await everyAttack();
  });
  afterAll(async () => {
    stop();
    await shop.close();
  });

  async function answered(sent: Promise<Response>): Promise<void> {
    const answer = await sent;
    answers.push(`${answer.status} ${inspect([...answer.headers])} ${await answer.text()}`);
  }
  const failing = (work: Promise<unknown>): Promise<unknown> =>
    work.catch((error: unknown) => {
      errors.push(error);
    });
  function known<T extends Readonly<Record<string, string>>>(fields: T): T {
    digests.add(fields.SignatureValue!);
    return fields;
  }

  /** Payments that succeed and fail, callbacks with secrets in every place, and failures of every kind. */
  async function everyAttack(): Promise<void> {
    const bought = await sendSecrets();
    await failInEveryWay(bought);
  }

  const postback = (): string => `${shop.url}/postback/payment`;
  const redirect = (): string => `${shop.url}/redirect/payment/success`;
  const claimOf = ({ id, billId }: Bought) => ({ InvId: id, OutSum: '100.05', TrsId: billId });

  async function sendSecrets(): Promise<Bought> {
    const bought = await shop.buy({ description: 'Two cups' });
    const { fields, url } = await shop.pay(bought.billId, { card: CARD });
    await answered(sendForm(url, known(fields)));
    await shop.settle();
    await answered(fetch(`${shop.url}/api/orders/${bought.id}`));
    const other = await shop.buy({ shop: 'eu' });
    await shop.pay(other.billId, { card: SPACED });

    const claim = claimOf(bought);
    const signed = known(postbackFields(claim, TOKENS.main));
    const digest = signed.SignatureValue!;
    for (const card of CARDS) {
      const spread = known(postbackFields({ ...claim, InvId: `for ${card}`, Status: `paid ${card}` }, TOKENS.main));
      await answered(
        postJson(postback(), {
          ...spread,
          custom: `card ${card}`,
          Commission: card,
          PayerCard: card,
          [card]: { deep: [card, [card]] },
        }),
      );
      await answered(sendForm(postback(), { ...spread, note: `${card}, ${card}` }));
      await answered(sendForm(redirect(), known(redirectFields({ ...claim, custom: `card ${card}` }, TOKENS.main))));
      await answered(sendForm(redirect(), { ...redirectFields({ ...claim, InvId: card }), SignatureValue: digest }));
      await answered(postJson(postback(), { ...signed, CurrencyIn: card.slice(0, 16), OutSum: card }));
    }
    await answered(
      postJson(postback(), { ...signed, PayerCard: Number(CARD), SignatureValue: [digest], signaturevalue: digest }),
    );
    await answered(
      postJson(postback(), {
        ...signed,
        custom: { SignatureValue: digest, card: CARD },
        more: { SignatureValue: digest },
      }),
    );
    await answered(postJson(postback(), { SignatureValue: digest, OutSum: CARD }));
    await answered(sendForm(redirect(), { ...signed, SignatureValue: digest.toLowerCase() }));
    await answered(sendBytes(postback(), JSON.stringify(signed).slice(0, -1), 'application/json'));
    await answered(
      sendBytes(postback(), JSON.stringify(signed), 'application/json', { authorization: `Bearer ${TOKENS.main}` }),
    );
    await shop.settleHints();
    return bought;
  }

  async function failInEveryWay(bought: Bought): Promise<void> {
    const claim = claimOf(bought);
    const signed = known(postbackFields(claim, TOKENS.main));
    for (const fault of [
      'status500',
      'html',
      'unauthenticated',
      'loseAnswer',
      'resetBefore',
      'malformed',
      'billNotFound',
    ] as const) {
      await shop.sandbox.setFaults({ requests: { [fault]: 1 } });
      const payments = shop.app.get(PaymentAcceptanceService);
      await failing(payments.createBill({ orderId: fault, amount: '1', custom: 'a basket' }));
      await failing(payments.listPayments(bought.billId));
      await answered(postJson(`${shop.url}/api/orders`, { amount: '7.00' }));
      await answered(postJson(postback(), signed));
      await shop.elapse(600_000);
    }
    await shop.sandbox.clearFaults();
    await databaseInTrouble(async () => {
      await answered(postJson(postback(), { ...signed, custom: CARD, InvId: HYPHENS }));
      await answered(sendForm(redirect(), known(redirectFields({ ...claim, custom: SHORT }, TOKENS.main))));
      await failing(shop.app.get(PaymentAcceptanceService).createBill({ orderId: 'refused', amount: '1' }));
    });
    await failing(Promise.resolve().then(() => shop.app.get(PaymentAcceptanceService).shop('nobodys')));
    await failing(shop.app.get(PaymentOperations).attachBill('nothing', 'nothing', { operator: 'somebody' }));
  }

  /** Makes inserts fail, so that TypeORM throws its own error, which contains all parameters. */
  async function databaseInTrouble(work: () => Promise<void>): Promise<void> {
    const tables = ['callback', 'bill'];
    const each = (change: string) =>
      Promise.all(tables.map((table) => shop.dataSource.query(`ALTER TABLE payment_acceptance.${table} ${change}`)));
    await each('ADD CONSTRAINT trouble CHECK (false) NOT VALID');
    await work();
    await each('DROP CONSTRAINT trouble');
  }

  function expectNoSecret(text: string): void {
    for (const secret of [...Object.values(TOKENS), ...digests, ...[...digests].map((one) => one.toLowerCase())]) {
      expect(text.includes(secret) ? text.slice(Math.max(0, text.indexOf(secret) - 300)).slice(0, 400) : '').toBe('');
    }
    for (const card of CARDS) {
      expect(text.includes(card) ? text.slice(Math.max(0, text.indexOf(card) - 300)).slice(0, 400) : '').toBe('');
    }
  }

  test('no secret is in any log line, at the most verbose level', () => {
    expect(shop.logs.lines.length).toBeGreaterThan(10);
    expectNoSecret(shop.logs.text);
  });

  test('no secret is in the parameters of any statement, which its errors show', () => {
    expect(statements.some((statement) => statement.includes('INSERT INTO payment_acceptance.callback'))).toBe(true);
    expectNoSecret(statements.join('\n'));
  });

  test('no secret is in any row of any table', async () => {
    const tables = await shop.dataSource.query<{ name: string }[]>(
      `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
       WHERE table_schema IN ('payment_acceptance', 'public')`,
    );
    expect(tables.length).toBeGreaterThan(10);
    const rows = await Promise.all(
      tables.map(({ name }) => shop.dataSource.query(`SELECT to_jsonb(t)::text AS row FROM ${name} t`)),
    );
    const text = JSON.stringify(rows);
    for (const masked of ['411111******1111', '400000******0002', '555555******4444', '378282******0005']) {
      expect(text).toContain(masked);
    }
    expectNoSecret(text);
  });

  test('no secret is in any answer', () => {
    expect(answers.length).toBeGreaterThan(30);
    expectNoSecret(answers.join('\n'));
  });

  test('no secret is in any error: printed, as JSON, in its causes or hidden properties', () => {
    expect(errors.length).toBeGreaterThan(10);
    for (const error of errors) {
      const text = inspect(error, { depth: 10, showHidden: true, getters: true, maxStringLength: null });
      expectNoSecret([text, JSON.stringify(error), String(error), (error as Error).stack].join('\n'));
      expect(findReachable(error as Error, [...Object.values(TOKENS), ...digests, ...CARDS])).toEqual([]);
    }
  });

  test('no token is in anything that Nest holds, however deep', () => {
    // Proves that the search reaches the options: it finds what is not secret.
    expect(findReachable(held(shop.app), ['demo-main'])).not.toEqual([]);
    expect(findReachable(held(shop.app), Object.values(TOKENS))).toEqual([]);
  });

  test('no token can be reached while a request to the service is in flight', async () => {
    const { billId } = await shop.buy();
    const hold = shop.sandbox.holdAnswers('payments');
    await postJson(
      `${shop.url}/postback/payment`,
      postbackFields({ InvId: 'x', OutSum: '1', TrsId: billId }, TOKENS.main),
    );
    const check = shop.confirmer.runOnce();
    await hold.reached();
    const found = findReachable(held(shop.app), Object.values(TOKENS));
    hold.release();
    await check;
    expect(found).toEqual([]);
  });

  // The output does not depend on the adapter. Runs last: it takes seconds, during which connections time out.
  if (ONE_ADAPTER.includes(adapter)) {
    test('no secret is in the printed services', () => {
      const services = [PaymentAcceptanceService, Confirmer];
      for (const service of services) {
        // The text doubles with each level, to tens of megabytes.
        const text = inspect(shop.app.get<object>(service), { depth: 8, showHidden: true, getters: true });
        expectNoSecret(text);
      }
    });
  }
});
