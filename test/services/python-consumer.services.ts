import { afterAll, describe, expect, test } from '@jest/globals';
import type { Channel } from 'amqplib';
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { PaymentRabbitMqModule } from 'nestjs-payment-acceptance/rabbitmq';
import { SCHEMAS } from '../contract/files.mjs';
import { FLOW_EVENTS, wholeFlow } from '../contract/support/whole-flow.js';
import { closing } from '../support/closing.js';
import { startHarness } from '../support/harness.js';
import { eventually } from './support/outage.js';
import { pythonWith } from './support/python.js';
import { onChannel } from './support/rabbitmq.js';
import { describeOn, service } from './support/service.js';

const root = resolve(import.meta.dirname, '../..');
const VARIANTS = [
  { how: 'that only reads', modules: ['pika'], env: {} },
  {
    how: 'that validates',
    modules: ['pika', 'jsonschema'],
    env: { SCHEMA: join(root, SCHEMAS, 'payment.succeeded.json') },
  },
];

describeOn(await service('TEST_RABBITMQ_URL'), (url) => {
  describe.each(VARIANTS)('a consumer in Python $how', ({ modules, env }) => {
    const closeLater = closing();
    const python = pythonWith(...modules);
    const folder = mkdtempSync(join(tmpdir(), 'python-consumer-'));
    afterAll(() => rmSync(folder, { recursive: true }));
    const skipped = ` (skipped: no python3 has ${modules.join(' and ')}; install python3-${modules.join(' python3-')})`;
    const testOn = python === undefined ? test.skip : test;
    const why = python === undefined ? skipped : '';

    /** A queue of an exchange of its own, and where what it refuses goes; with the messages of a whole flow. */
    async function filledQueue(): Promise<{ queue: string; refused: string }> {
      const queue = `payments-test-${randomBytes(6).toString('hex')}`;
      const refused = `${queue}-refused`;
      await onChannel(url, async (channel) => {
        await channel.assertExchange(queue, 'topic');
        await channel.assertQueue(refused);
        await channel.assertQueue(queue, { deadLetterExchange: '', deadLetterRoutingKey: refused });
        await channel.bindQueue(queue, queue, '#');
      });
      closeLater(() =>
        onChannel(url, async (channel) => {
          for (const each of [queue, refused]) await channel.deleteQueue(each);
          await channel.deleteExchange(queue);
        }),
      );
      const harness = await startHarness({ imports: [PaymentRabbitMqModule.register({ url, exchange: queue })] });
      await wholeFlow(harness).finally(() => harness.close());
      return { queue, refused };
    }

    /** The queue's messages, as they stay in it. */
    const messagesIn = (queue: string): Promise<string[]> =>
      onChannel(url, async (channel: Channel) => {
        const messages: string[] = [];
        for (let message = await channel.get(queue); message; message = await channel.get(queue)) {
          messages.push(message.content.toString());
        }
        return messages;
      });

    const send = (queue: string, messages: string[]) =>
      onChannel(url, async (channel) => {
        for (const message of messages) channel.sendToQueue(queue, Buffer.from(message));
        await channel.checkQueue(queue);
      });

    function startConsumer(queue: string, database: string) {
      const file = join(root, 'examples/python-consumer/consumer.py');
      const child = spawn(python!, [file], {
        env: { ...process.env, ...env, RABBITMQ_URL: url, QUEUE: queue, DATABASE: database },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let errors = '';
      child.stderr.on('data', (data: Buffer) => (errors += data.toString()));
      const ended = once(child, 'exit').then(([code]) => ({ code: code as number | null, errors }));
      closeLater(() => child.kill('SIGKILL') && ended);
      return { child, ended };
    }

    const sql = (database: string, statement: string): unknown[] =>
      JSON.parse(
        execFileSync(python!, [
          '-c',
          'import json, sqlite3, sys\nwith sqlite3.connect(sys.argv[1]) as books:\n' +
            '  print(json.dumps(books.execute(sys.argv[2]).fetchall()))',
          database,
          statement,
        ]).toString(),
      ) as unknown[];

    testOn(`the consumer takes each payment once, and sets aside invalid messages${why}`, async () => {
      const { queue, refused } = await filledQueue();
      const messages = await messagesIn(queue);
      expect(messages).toHaveLength(FLOW_EVENTS.length);
      const event = JSON.parse(messages.find((each) => each.includes('"payment.succeeded"'))!) as { data: object };
      const float = JSON.stringify({ ...event, data: { ...event.data, id: 'of-nobody', amount: 100.05 } });
      // The last one shows that the consumer is done with all that came before.
      const broken = 'SCHEMA' in env ? [float, 'the end'] : ['the end'];
      await send(queue, [...messages, ...broken]);

      const database = join(folder, 'books');
      const { child, ended } = startConsumer(queue, database);
      const reachesTheEnd = eventually(
        () => onChannel(url, (channel) => channel.checkQueue(refused)),
        ({ messageCount }) => messageCount === broken.length,
        'the consumer reaches the last message',
      );
      const breaksOff = ended.then(({ errors }) => Promise.reject(new Error(errors)));
      await Promise.race([reachesTheEnd, breaksOff]);
      child.kill('SIGKILL');
      await breaksOff.catch(() => undefined);
      expect(await messagesIn(refused)).toEqual(broken);
      expect(await messagesIn(queue)).toEqual([]);
      expect(sql(database, 'SELECT order_id, amount FROM paid ORDER BY order_id')).toEqual([
        ['exact', '100.05'],
        ['less', '99.00'],
        ['more', '101.00'],
      ]);
    });

    testOn(`the consumer acknowledges nothing that it could not write${why}`, async () => {
      const { queue, refused } = await filledQueue();
      const database = join(folder, 'unwritable');
      sql(database, 'CREATE TABLE paid (another TEXT)');
      const { code, errors } = await startConsumer(queue, database).ended;
      expect([code, errors]).toEqual([1, expect.stringContaining('has 1 columns but 3 values')]);
      const left = (await messagesIn(queue)).map((each) => (JSON.parse(each) as { type: string }).type);
      expect(left.filter((type) => type === 'payment.succeeded')).toHaveLength(3);
      expect(await messagesIn(refused)).toEqual([]);
    });
  });
});
