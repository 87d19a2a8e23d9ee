import { expect } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start } from '../../libs/payment-acceptance/src/cli/start.js';
import { EU_TOKEN, MAIN_TOKEN, type Harness } from './harness.js';

export interface Ran {
  code: number;
  out: string;
  err: string;
}

/** The command line on a harness's database, with a temporary folder for files. */
export interface Commands {
  command(...args: string[]): Promise<Ran>;
  /** The JSON document that a command prints. */
  json(...args: string[]): Promise<{ code: number; document: unknown }>;
  file(name: string, text?: string | Buffer): string;
  /** Creates a bill at the service that the module does not know. */
  foreignBill(orderId: string, amount?: string): Promise<{ billId: string; linkPageUrl: string }>;
  close(): void;
}

/** The environment of a command. */
export function environmentOf({ databaseUrl, sandboxUrl }: Harness): NodeJS.ProcessEnv {
  return {
    DATABASE_URL: databaseUrl,
    PAYMENT_ACCEPTANCE_API_BASE_URL: sandboxUrl,
    PAYMENT_ACCEPTANCE_SHOPS: 'main,eu',
    PAYMENT_ACCEPTANCE_MAIN_API_TOKEN: MAIN_TOKEN,
    PAYMENT_ACCEPTANCE_MAIN_SHOP_ID: 'shop-main',
    PAYMENT_ACCEPTANCE_EU_API_TOKEN: EU_TOKEN,
    PAYMENT_ACCEPTANCE_EU_SHOP_ID: 'shop-eu',
    PAYMENT_ACCEPTANCE_EU_CURRENCY: 'EUR',
    PAYMENT_ACCEPTANCE_REQUESTS_PER_SECOND: '1000',
  };
}

/** Runs the command line in this process. Fails if it prints a token. */
export async function runCommand(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ran> {
  const ran = { code: 0, out: '', err: '' };
  const output = { out: (text: string) => void (ran.out += text), err: (text: string) => void (ran.err += text) };
  ran.code = await start(args, env, output);
  for (const token of [MAIN_TOKEN, EU_TOKEN]) expect(ran.out + ran.err).not.toContain(token);
  return ran;
}

export function commandsOf(harness: Harness): Commands {
  const folder = mkdtempSync(join(tmpdir(), 'payment-acceptance-commands-'));
  const env = environmentOf(harness);
  const command = (...args: string[]): Promise<Ran> => runCommand(args, env);
  return {
    command,
    async json(...args: string[]) {
      const { code, out, err } = await command(...args, '--json');
      if (out === '') throw new Error(err);
      return { code, document: JSON.parse(out) as unknown };
    },
    file(name, text) {
      if (text !== undefined) writeFileSync(join(folder, name), text);
      return join(folder, name);
    },
    async foreignBill(orderId, amount = '10.00') {
      const answer = await fetch(`${harness.sandboxUrl}/api/v1/bill/create`, {
        method: 'POST',
        headers: { authorization: `Bearer ${MAIN_TOKEN}` },
        body: new URLSearchParams({
          amount,
          order_id: orderId,
          shop_id: 'shop-main',
          type: 'normal',
          currency_in: 'RUB',
        }),
      });
      const { bill_id: billId, link_page_url: linkPageUrl } = (await answer.json()) as Record<string, string>;
      return { billId: billId!, linkPageUrl: linkPageUrl! };
    },
    close: () => rmSync(folder, { recursive: true }),
  };
}
