import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { commandsOf, environmentOf, runCommand, type Commands, type Ran } from '../support/commands.js';
import { startHarness, type Harness } from '../support/harness.js';
import { EffectWriter } from '../support/orders.js';

let harness: Harness;
let commands: Commands;

describe('cli --json', () => {
  beforeAll(async () => {
    harness = await startHarness({ providers: [EffectWriter] });
    commands = commandsOf(harness);
    commands.file(
      'bills.json',
      JSON.stringify([{ orderId: 'old', billId: 'old-1', amount: '10', createdAt: new Date().toISOString() }]),
    );
    commands.file(
      'statement.csv',
      `payment_id,bill_id,status,amount,currency,created_at\np-1,,SUCCESS,10.00,,2026-11-21 12:00:00\nbroken\n`,
    );
    const { billId } = await harness.host.payments.createBill({ orderId: 'first', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.settle();
  });
  afterAll(async () => {
    commands.close();
    await harness.close();
  });

  /** `@name` in a line stands for a file of that name. */
  const run = (line: string, more: NodeJS.ProcessEnv = {}): Promise<Ran> => {
    const args = line.split(' ').map((word) => (word.startsWith('@') ? commands.file(word.slice(1)) : word));
    return runCommand([...args, '--json'], { ...environmentOf(harness), ...more });
  };
  const documentOf = ({ out }: Ran): unknown => JSON.parse(out);

  const today = new Date().toISOString().slice(0, 10);
  const LINES = [
    'migrate',
    'migrate --dry-run',
    'status',
    'check BILL',
    'replay --all',
    'replay --all --dry-run',
    'deliver --consumer orders',
    `reconcile --day ${today}`,
    'reconcile --against @statement.csv',
    'doctor',
    'import @bills.json',
    'erase --order first',
    `recover --since ${today}T00:00:00Z`,
    '--help',
  ];

  test('with --json a command that succeeds writes nothing but JSON to standard output', async () => {
    const { bills } = await harness.host.ledger();
    for (const line of LINES) {
      const ran = await run(line.replace('BILL', bills[0]!.billId!));
      expect({ line, document: documentOf(ran) }).not.toHaveProperty('document.error');
      expect({ line, code: ran.code }).toEqual({ line, code: line.includes('statement') ? 1 : 0 });
    }
  });

  const FAILURES: readonly [line: string, more: NodeJS.ProcessEnv, code: string][] = [
    ...LINES.filter((line) => line !== '--help').flatMap((line): [string, NodeJS.ProcessEnv, string][] => [
      [line, { DATABASE_URL: 'postgres://me:my-password@127.0.0.1:9/none' }, 'database-unreachable'],
      ...(line === 'doctor' ? [] : [[line, { DATABASE_URL: '' }, 'usage'] as [string, NodeJS.ProcessEnv, string]]), // needs none
      [`${line} --nonsense`, {}, 'usage'],
    ]),
    ['nonsense', {}, 'usage'],
    ['status', { PAYMENT_ACCEPTANCE_MAIN_API_TOKEN: '' }, 'invalid-configuration'],
    ['status', { PAYMENT_ACCEPTANCE_SCHEMA: 'other' }, 'schema-behind'],
    ['migrate', { PAYMENT_ACCEPTANCE_SCHEMA: 'Not a name' }, 'usage'],
    ['status -c @missing.js', {}, 'usage'],
    ['check none', {}, 'operator-action'],
    ['check none -s nobody', {}, 'unknown-shop'],
    ['deliver --consumer nobody', {}, 'operator-action'],
    ['import @missing.json', {}, 'usage'],
    ['reconcile --day today', {}, 'usage'],
    ['reconcile --against @missing.csv', {}, 'usage'],
    ['reconcile --against @bills.json', {}, 'usage'],
    ['import @missing.log --from-log', {}, 'usage'],
  ];

  test('with --json a command that fails writes its error and code as JSON', async () => {
    for (const [line, more, code] of FAILURES) {
      const ran = await run(line, more);
      expect({ line, document: documentOf(ran), err: ran.err }).toEqual({
        line,
        document: { error: { code, message: expect.stringMatching(/./) } },
        err: '',
      });
      expect(ran.code).toBeGreaterThan(0);
      expect(ran.out).not.toContain('my-password');
    }
  });

  test('with --json a reconciliation that breaks off among its rows writes only its error', async () => {
    // Nine bills without an answer are rows; the tenth ends it.
    for (let at = 0; at < 10; at += 1) await harness.host.payments.createBill({ orderId: `many-${at}`, amount: '10' });
    const ran = await run(`reconcile --day ${today} -s main`, {
      PAYMENT_ACCEPTANCE_API_BASE_URL: 'http://127.0.0.1:9',
    });
    expect(ran.code).toBe(1);
    expect(documentOf(ran)).toEqual({
      error: {
        code: expect.any(String),
        message: expect.any(String),
      },
    });
  });
});
