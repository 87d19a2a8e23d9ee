import { ManualPaymentClock } from 'nestjs-payment-acceptance/testing';
import { startPaymentSandbox, type PaymentSandbox, type StartOptions } from 'nestjs-payment-sandbox';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { DataSource } from 'typeorm';
import { freePorts } from '../../scripts/lib/free-port.mjs';
import { beside } from './beside.js';
import { openDatabase } from '../../libs/payment-acceptance/src/database/open-database.js';
import { connectionOf, createTestDatabase } from './database.js';
import { firstWords } from './first-words.js';
import { LedgerReader, type PaymentLedger } from './ledger.js';

export interface OrderView {
  id: string;
  status: 'pending' | 'paid' | 'not_paid' | 'cancelled';
  paidAmount: string | null;
  note: string | null;
  events: { name: string; paymentId: string; at: string }[];
}

/** The built sample shop in processes of its own, several on one database. */
export interface ShopHarness {
  readonly sandbox: PaymentSandbox;
  readonly sandboxUrl: string;
  readonly urls: readonly string[];
  readonly processes: readonly ChildProcess[];
  buy(input: {
    amount: string;
    shop?: 'main' | 'eu';
    description?: string;
  }): Promise<{ id: string; billId: string; payUrl: string }>;
  order(id: string): Promise<OrderView>;
  ledger(): Promise<PaymentLedger>;
  /** Runs a statement on the shops' database. */
  database(statement: string): Promise<unknown[]>;
  close(): Promise<void>;
}

export async function startShops(instances: number, options: StartOptions = {}): Promise<ShopHarness> {
  const database = await createTestDatabase();
  const running = await startPaymentSandbox({
    postbackRetryDelays: [],
    ...options,
    shops: {
      'demo-main': { name: 'Coffee shop', apiToken: 'sandbox-main-token-0123456789abcdef' },
      'demo-eu': { name: 'Coffee shop Europe', apiToken: 'sandbox-eu-token-0123456789abcdef' },
    },
  });
  const ports = await freePorts(instances);
  const processes = ports.map((port) => startProcess(port, database.url, running.url));
  const dataSource = await new DataSource(connectionOf(database.url)).initialize();
  const ledger = new LedgerReader(await openDatabase(beside(dataSource), new ManualPaymentClock()));
  async function close(): Promise<void> {
    await stopAll(processes);
    await dataSource.destroy();
    await running.close();
    await database.drop();
  }
  try {
    await Promise.all(processes.map((child) => firstWords(child)));
  } catch (error) {
    await close();
    throw error;
  }
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  const url = urls[0]!;
  await putCallbackAddresses(running.sandbox, url);
  return {
    ...clientOf(url),
    sandbox: running.sandbox,
    sandboxUrl: running.url,
    urls,
    processes,
    ledger: () => ledger.read(1_000, null),
    database: (statement) => dataSource.query<unknown[]>(statement),
    close,
  };
}

/** Tells the sandbox where the sample shop at this address receives callbacks. */
export async function putCallbackAddresses(sandbox: PaymentSandbox, url: string): Promise<void> {
  for (const [id, suffix] of [
    ['demo-main', ''],
    ['demo-eu', '/eu'],
  ] as const) {
    await sandbox.putShop(id, {
      successUrl: `${url}/redirect/payment/success${suffix}`,
      failUrl: `${url}/redirect/payment/fail${suffix}`,
      resultUrl: `${url}/postback/payment${suffix}`,
    });
  }
}

function startProcess(port: number, databaseUrl: string, sandboxUrl: string): ChildProcess {
  return spawn(process.execPath, ['dist/apps/shop/main.js'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      NODE_ENV: 'test',
      NODE_OPTIONS: '',
      DATABASE_URL: databaseUrl,
      SHOP_PORT: String(port),
      SANDBOX_URL: sandboxUrl,
    },
  });
}

async function stopAll(processes: readonly ChildProcess[]): Promise<void> {
  const alive = processes.filter((child) => child.exitCode === null && child.signalCode === null);
  const ends = alive.map((child) => once(child, 'exit'));
  for (const child of processes) child.kill('SIGTERM');
  await Promise.all(ends);
}

/** The shop's HTTP API. */
function clientOf(url: string): Pick<ShopHarness, 'buy' | 'order'> {
  return {
    async buy(input) {
      const answer = await fetch(`${url}/api/orders`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(input),
      });
      if (answer.status !== 201) throw new Error(`POST /api/orders: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as Awaited<ReturnType<ShopHarness['buy']>>;
    },
    order: async (id) => (await (await fetch(`${url}/api/orders/${id}`)).json()) as OrderView,
  };
}
