import { expect, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** What the sandbox takes of a machine: measured where no other test runs beside it. */
const LIMITS = { startMs: 2_000, thousandBillsMiB: 30 };

test('it is ready within two seconds', async () => {
  const times: number[] = [];
  for (let run = 0; run < 5 && !times.some((time) => time < LIMITS.startMs); run += 1) {
    const started = performance.now();
    const { child, next } = start();
    await next(/^Ready/);
    times.push(performance.now() - started);
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  console.log(`ready after ${times.map((time) => Math.round(time)).join(', ')} ms`);
  expect(Math.min(...times)).toBeLessThan(LIMITS.startMs);
});

test('a thousand bills, each paid, keep less than 30 MB', async () => {
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
  await makeBills(500); // what the work itself takes once, such as compiled code, belongs to no bill
  const before = await keptMiB();
  await makeBills(1000);
  const after = await keptMiB();
  child.kill('SIGTERM');
  await once(child, 'exit');
  console.log(`with 500 bills ${before.toFixed(1)} MiB, with a thousand more ${after.toFixed(1)} MiB`);
  expect(after - before).toBeLessThan(LIMITS.thousandBillsMiB);
});

/** The size of the process would count what is only not collected yet, so it collects first and says what it keeps. */
const REPORT_KEPT = `data:text/javascript,${encodeURIComponent(`process.on('SIGUSR2', () => {
  gc();
  const { heapUsed, external } = process.memoryUsage();
  console.log('Kept: ' + (heapUsed + external));
});`)}`;

interface Program {
  child: ChildProcess;
  /** The next line it prints that has the form, or what the form's first group holds. */
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
        if (line.done) throw new Error(`the sandbox ended before it printed ${form}`);
        const found = form.exec(line.value);
        if (found) return found[1] ?? found[0];
      }
    },
  };
}
