import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { demoShops, type RunningSandbox, startPaymentSandbox } from 'nestjs-payment-sandbox';
import { codeBlocks } from '../../scripts/lib/markdown.mjs';

/** The tests of docs/sandbox.md in other languages, if their interpreter or compiler is installed. */
const LANGUAGES = [
  { language: 'python', file: 'test_payment.py', command: ['python3', '-m', 'unittest', '-v'], version: '--version' },
  { language: 'php', file: 'payment_test.php', command: ['php', 'payment_test.php'], version: '--version' },
] as const;

describe.each(LANGUAGES)('the test of docs/sandbox.md in $language', ({ language, file, command, version }) => {
  const [program, ...args] = command;
  const present = spawnSync(program, [version]).status === 0;
  let folder: string;
  let running: RunningSandbox;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sandbox-language-'));
    running = await startPaymentSandbox({ shops: demoShops('http://127.0.0.1:9') });
  });
  afterAll(async () => {
    await running.close();
    rmSync(folder, { recursive: true, force: true });
  });

  (present ? test : test.skip)(
    `the test in the document passes, and fails if the service answers otherwise${present ? '' : ` (skipped: there is no ${program})`}`,
    async () => {
      const document = readFileSync(resolve(import.meta.dirname, '../../docs/sandbox.md'), 'utf8');
      const blocks = codeBlocks(document).filter((block) => block.language === language);
      expect(blocks).toHaveLength(1);
      writeFileSync(join(folder, file), blocks[0]!.text);
      const env = { ...process.env, SANDBOX_URL: running.url };
      const run = () => promisify(execFile)(program, args, { cwd: folder, env });
      await run();
      expect(running.sandbox.bills()).toHaveLength(1);
      expect(running.sandbox.requests.map(({ operation, status }) => [operation, status])).toEqual([
        ['create', 200],
        ['payments', 200],
      ]);
      await running.sandbox.setFaults({ requests: { merchantBanned: { operation: 'payments' } } });
      await expect(run()).rejects.toThrow();
    },
    120_000,
  );
});
