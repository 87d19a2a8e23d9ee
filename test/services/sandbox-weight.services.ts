import { expect, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** Start-up time and memory of the sandbox. On a slow machine it may take as long as four empty applications of Nest. */
const LIMITS = { startMs: 2_000, emptyApplications: 4, thousandBillsMiB: 30 };

/** How long an application of Nest takes that does nothing but listen. */
async function emptyApplicationMs(): Promise<number> {
  const program = `import 'reflect-metadata'; import { Module } from '@nestjs/common'; import { NestFactory } from '@nestjs/core';
    class Empty {} Module({})(Empty);
    const app = await NestFactory.create(Empty, { logger: false }); await app.listen(0); await app.close();`;
  const started = performance.now();
  await once(spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'ignore' }), 'exit');
  return performance.now() - started;
}

test("the sandbox starts within two seconds, or four times an empty application's start", async () => {
  const limitMs = Math.max(LIMITS.startMs, LIMITS.emptyApplications * (await emptyApplicationMs()));
  const times: number[] = [];
  for (let run = 0; run < 5 && !times.some((time) => time < limitMs); run += 1) {
    const started = performance.now();
    const { child, next } = start();
    await next(/^Ready/);
    times.push(performance.now() - started);
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  console.log(`ready after ${times.map((time) => Math.round(time)).join(', ')} ms, limit ${Math.round(limitMs)} ms`);
  expect(Math.min(...times)).toBeLessThan(limitMs);
});

test('the sandbox needs less than 30 MB for a thousand paid bills', async () => {
  const { child, next } = start();
  const url = await next(/^Sandbox: (.*)$/);
  await next(/^Ready/);
  const makeBills = async (count: number): Promise<void> => {
    for (let made = 0; made < count; made += 1) {
      const answer = await fetch(`${url}/api/v1/bill/create`, {
        method: 'POST',
        headers: { authorization: 'Bearer sandbox-main-token-0123456789abcdef' },
        body: new URLSearchParams({ amount: '100.05', order_id: `order-${made}`, custom: 'x'.repeat(200) }),
      });
      const { bill_id } = (await answer.json()) as { bill_id: string };
      await (await fetch(`${url}/sandbox/bills/${bill_id}/pay`, { method: 'POST' })).text();
    }
  };
  const keptMiB = async (): Promise<number> => {
    child.kill('SIGUSR2');
    return Number(await next(/^Kept: (\d+)$/)) / 1024 / 1024;
  };
  await makeBills(500); // warm-up: compiled code and the like must not count
  const before = await keptMiB();
  await makeBills(1000);
  const after = await keptMiB();
  child.kill('SIGTERM');
  await once(child, 'exit');
  console.log(`with 500 bills ${before.toFixed(1)} MiB, with a thousand more ${after.toFixed(1)} MiB`);
  expect(after - before).toBeLessThan(LIMITS.thousandBillsMiB);
});

/** Has the process collect garbage and print what it keeps, because its size would include garbage. */
const REPORT_KEPT = `data:text/javascript,${encodeURIComponent(`process.on('SIGUSR2', () => {
  gc();
  const { heapUsed, external } = process.memoryUsage();
  console.log('Kept: ' + (heapUsed + external));
});`)}`;

interface Program {
  child: ChildProcess;
  /** The next printed line that matches the form, or the form's first group. */
  next(form: RegExp): Promise<string>;
}

function start(): Program {
  const program = ['libs/payment-sandbox/dist/esm/cli/main.js', '--port', '0', '--log', 'none'];
  const child = spawn(process.execPath, ['--expose-gc', '--import', REPORT_KEPT, ...program], {
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    async next(form) {
      for (;;) {
        const line = await lines.next();
        if (line.done) throw new Error(`The sandbox ended before it printed ${form}.`);
        const found = form.exec(line.value);
        if (found) return found[1] ?? found[0];
      }
    },
  };
}
