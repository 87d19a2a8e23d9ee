import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { startPaymentSandbox, type StartOptions } from 'nestjs-payment-sandbox';
import { freePort } from '../../scripts/lib/free-port.mjs';
import { closing } from '../support/closing.js';
import { answerOf, ShopServer, StillClock } from './fixture.js';

let dataDir: string;

describe('recovery', () => {
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'sandbox-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));
  const closeLater = closing();

  const create = async (url: string, token: string) => {
    const init = { method: 'POST', headers: { authorization: `Bearer ${token}` } };
    const { json } = await answerOf(await fetch(`${url}/api/v1/bill/create?amount=100.05&order_id=1`, init));
    return json['bill_id'] as string;
  };

  describe('a sandbox with a folder', () => {
    const shops = { main: { apiToken: 'token' } };
    const start = async (options: StartOptions = {}) => {
      const running = await startPaymentSandbox({ dataDir, shops, clock: new StillClock(), ...options });
      closeLater(running.close);
      return running;
    };

    test('a sandbox keeps bills, payments, callbacks, faults and the clock over a restart', async () => {
      const first = await start();
      const billId = await create(first.url, 'token');
      await first.sandbox.putShop('main', { resultUrl: 'http://127.0.0.1:1/', failUrl: 'http://127.0.0.1:1/fail' });
      await first.sandbox.pay(billId, { outcome: 'fail' });
      await first.sandbox.advanceClock('5m');
      await first.sandbox.setFaults({ seed: 3, requests: { slow: { p: 0.5, ms: 1 } } });
      const seen = () => [
        first.sandbox.bill(billId),
        first.sandbox.now(),
        first.sandbox.faults(),
        first.sandbox.shops(),
      ];
      const before = seen();
      await first.close();
      for (let restart = 0; restart < 2; restart += 1) {
        const { sandbox, close } = await start();
        expect([sandbox.bill(billId), sandbox.now(), sandbox.faults(), sandbox.shops()]).toEqual(before);
        await close();
      }
    });

    test('a sandbox continues planned results and redeliveries after a restart', async () => {
      const shopServer = await new ShopServer().open();
      try {
        shopServer.statuses = [500];
        const first = await start();
        await first.sandbox.putShop('main', { resultUrl: shopServer.url });
        const late = await create(first.url, 'token');
        await first.sandbox.pay(late, { card: '4000 0000 0000 0077' });
        await first.sandbox.pay(await create(first.url, 'token'));
        await first.sandbox.settled();
        await first.close();
        expect(shopServer.requests).toHaveLength(1);

        const { sandbox, close } = await start();
        await sandbox.advanceClock('1m');
        expect(sandbox.bill(late).payments).toMatchObject([{ status: 'SUCCESS' }]);
        expect(shopServer.bodies.map(({ TrsId }) => TrsId === late)).toEqual([false, false, true]);
        await close();
      } finally {
        await shopServer.close();
      }
    });

    test('a torn last line of the journal is dropped', async () => {
      const first = await start();
      const billId = await create(first.url, 'token');
      await first.close();
      appendFileSync(join(dataDir, 'journal.jsonl'), '[{"bill":{"id":"torn","am');
      const { sandbox, close } = await start();
      expect(sandbox.bills().map(({ id }) => id)).toEqual([billId]);
      await close();
      expect(readFileSync(join(dataDir, 'journal.jsonl'), 'utf8')).not.toContain('torn');
    });

    test('a broken line within the journal fails the start, and nothing is overwritten', async () => {
      const broken = '{"x\n[]\n';
      writeFileSync(join(dataDir, 'journal.jsonl'), broken);
      await expect(start({ logger: false })).rejects.toThrow(/journal\.jsonl, line 1/);
      expect(readFileSync(join(dataDir, 'journal.jsonl'), 'utf8')).toBe(broken);
    });

    test('a data folder serves one process at a time', async () => {
      const first = await start();
      await expect(start({ logger: false })).rejects.toThrow(/in use by another sandbox/);
      await first.close();
      await (await start()).close();
    });

    test('shops may swap their tokens between two starts', async () => {
      const seeded = (a: string, b: string) => ({ shops: { a: { apiToken: a }, b: { apiToken: b } } });
      await (await start(seeded('token-1', 'token-2'))).close();
      const { sandbox, close } = await start(seeded('token-2', 'token-1'));
      expect([sandbox.shop('a').apiToken, sandbox.shop('b').apiToken]).toEqual(['token-2', 'token-1']);
      await close();
    });

    test('a shop may get another id between two starts, with its token, and its former one again', async () => {
      await (await start({ shops: { a: { apiToken: 'token-1' } } })).close();
      for (const [named, other] of [
        ['b', 'a'],
        ['a', 'b'],
      ] as const) {
        const { sandbox, close } = await start({ shops: { [named]: { apiToken: 'token-1' } } });
        expect(sandbox.shop(named).apiToken).toBe('token-1');
        expect(sandbox.shop(other).apiToken).not.toBe('token-1');
        await close();
      }
    });

    test('a setting follows its seed until it is changed by hand', async () => {
      const seeded = (port: number) => ({
        main: { apiToken: 'token', failUrl: `http://127.0.0.1:${port}/f`, resultUrl: `http://127.0.0.1:${port}/r` },
      });
      const first = await start({ shops: seeded(3000) });
      await first.sandbox.putShop('main', { resultUrl: 'http://127.0.0.1:9/mine', commissionPercent: 2 });
      await first.close();
      for (const port of [3001, 3002]) {
        const { sandbox, close } = await start({ shops: seeded(port) });
        expect(sandbox.shop('main')).toMatchObject({
          failUrl: `http://127.0.0.1:${port}/f`,
          resultUrl: 'http://127.0.0.1:9/mine',
          commissionPercent: 2,
        });
        await close();
      }
    });
  });

  describe('the program', () => {
    const children: ChildProcess[] = [];
    afterEach(() => {
      for (const child of children.splice(0)) child.kill('SIGKILL');
    });

    const run = (env: Record<string, string>) => {
      const child = spawn(process.execPath, ['dist/apps/sandbox/main.js'], {
        env: { ...process.env, SANDBOX_DATA: dataDir, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      children.push(child);
      return child;
    };
    const runTo = async (text: string, env: Record<string, string>) => {
      const child = run(env);
      for await (const chunk of child.stdout) if (String(chunk).includes(text)) return child;
      throw new Error(`The program ended without "${text}"`);
    };

    test('the program keeps its answers through kill -9, and then sends the postback that was held up', async () => {
      const shopServer = await new ShopServer().open();
      try {
        const port = await freePort();
        const env = { SANDBOX_PORT: String(port), SHOP_PORT: new URL(shopServer.url).port };
        const url = `http://127.0.0.1:${port}`;
        let child = await runTo(`Sandbox: ${url}\n`, env);
        shopServer.gate = new Promise(() => undefined);
        const billId = await create(url, 'sandbox-main-token-0123456789abcdef');
        const paid = await answerOf(await fetch(`${url}/sandbox/bills/${billId}/pay`, { method: 'POST', body: '{}' }));
        expect(paid.json['redirect']).toMatchObject({ url: `${shopServer.url}/redirect/payment/success` });
        await shopServer.received();
        child.kill('SIGKILL');
        await once(child, 'exit');

        shopServer.gate = undefined;
        shopServer.requests.length = 0;
        child = await runTo(`Sandbox: ${url}\n`, env);
        const payments = await fetch(`${url}/api/v1/bill/payments?id=${billId}`, {
          headers: { authorization: 'Bearer sandbox-main-token-0123456789abcdef' },
        });
        expect((await answerOf(payments)).json).toMatchObject({ data: [{ status: 'SUCCESS', amount: 100.05 }] });
        // Advancing the clock by zero waits for everything that is due.
        await fetch(`${url}/sandbox/clock`, { method: 'POST', body: '{"advance":"0s"}' });
        expect(shopServer.requests.map((request) => request.url)).toEqual(['/postback/payment']);
        child.kill('SIGTERM');
        expect(await once(child, 'exit')).toEqual([0, null]);
      } finally {
        await shopServer.close();
      }
    });

    test('the program answers a port in use with one line that names the variable', async () => {
      const blocker = createServer().listen(0, '127.0.0.1');
      closeLater(() => blocker.close());
      await once(blocker, 'listening');
      const { port } = blocker.address() as AddressInfo;
      const child = run({ SANDBOX_PORT: String(port) });
      let output = '';
      child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
      expect(await once(child, 'close')).toEqual([1, null]);
      expect(output).toBe(`Port ${port} is in use: choose another with --port or SANDBOX_PORT\n`);
    });
  });
});
