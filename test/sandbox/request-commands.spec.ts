import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import type { ReceivedRequest } from 'nestjs-payment-sandbox';
import { Fixture, TOKEN } from './fixture.js';

describe('requests', () => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await Fixture.open();
  });
  afterAll(() => fixture.close());

  const last = async () => (JSON.parse((await fixture.control('GET', '/requests')).text) as ReceivedRequest[]).at(-1)!;
  const form = (fields: Record<string, string>): RequestInit => ({ method: 'POST', body: new URLSearchParams(fields) });

  test('requests can be sent again by the command that the page shows', async () => {
    const order = `it's "$HOME" \\ &`;
    const body = new FormData();
    body.set('amount', '5');
    body.set('order_id', order);
    const fields = { amount: '5', order_id: order };
    const text = JSON.stringify(fields);
    const sent: [RequestInit, string[]][] = [
      [{ method: 'POST', body }, ['amount=5', `order_id=${order}`]],
      [form(fields), [new URLSearchParams(fields).toString()]],
      [{ method: 'POST', body: text, headers: { 'content-type': 'application/json' } }, [text]],
    ];
    for (const [init, expected] of sent) {
      await fixture.call('/api/v1/bill/create', init);
      const page = await fixture.call(`/sandbox/console/requests/${(await last()).id}`);
      const command = unescaped(/<pre[^>]*id="curl">([\s\S]*?)<\/pre>/.exec(page.text)![1]!);
      expect(command).not.toContain(TOKEN);
      const argv = argumentsOf(command, { API_TOKEN: TOKEN });
      expect(argv).toContain(`Authorization: Bearer ${TOKEN}`);
      expect(argv[3]).toBe(`${fixture.url}/api/v1/bill/create`);
      const data = argv.flatMap((each, index) =>
        /^--(form-string|data-raw)$/.test(argv[index - 1] ?? '') ? [each] : [],
      );
      expect(data).toEqual(expected);
    }
  });
});

function unescaped(text: string): string {
  const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
  return text.replace(/&(#?\w+);/g, (_all, name: string) => entities[name] ?? '');
}

/** The command's arguments as a shell parses them. */
function argumentsOf(command: string, env: NodeJS.ProcessEnv): string[] {
  const script = `curl() { printf '%s\\0' curl "$@"; }\n${command}`;
  return spawnSync('sh', ['-c', script], { encoding: 'utf8', env }).stdout.split('\0').slice(0, -1);
}
