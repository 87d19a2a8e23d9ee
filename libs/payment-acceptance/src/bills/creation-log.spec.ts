import { describe, expect, test } from '@jest/globals';
import { ConsoleLogger, Logger } from '@nestjs/common';
import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import { resolved } from '../../../../test/support/units.js';
import { Secret } from '../common/secret.js';
import { creationLine, readCreationLine, type CreationRecord } from './creation-log.js';

const PREFIX = 'payment-acceptance bill created:';
const TOKEN = new Secret('token-0123456789');
const lineOf = (orderId: string): string => creationLine(record(orderId), TOKEN);
const SHOP = { ...resolved().shops.get('main')!, token: new Secret('a-newer-token'), previousTokens: [TOKEN] };
const read = (line: string, shop = SHOP) =>
  readCreationLine(line, (name) => Promise.resolve(name === 'main' ? shop : undefined));
const record = (orderId: string): CreationRecord => ({
  shop: 'main',
  orderId,
  billId: 'b-1',
  intentId: '00000000-0000-4000-8000-000000000001',
  amount: '100.05',
  currency: 'RUB',
  payerPaysCommission: false,
  createdAt: '2026-11-23T18:00:00.000Z',
  linkPageUrl: 'https://pay.example/transfer/b-1',
});

/** Ends the line, starts another record, colours, closes strings and objects, reverses the text direction. */
const HOSTILE = `A\n${PREFIX} x: ZQ.${'0'.repeat(64)} \u001b[31m"}\\u000a{\u2028\u202e%s%o\ud800`;
const ORDERS = ['A-1', 'say "10,5" {x}', HOSTILE];

/** What Nest's console logger writes. */
function byConsole(options: { colors?: boolean; json?: boolean; timestamp?: boolean }, message: string): string {
  class Captured extends ConsoleLogger {
    text = '';
    override printMessages(...given: Parameters<ConsoleLogger['printMessages']>): void {
      const write = process.stdout.write.bind(process.stdout);
      process.stdout.write = (chunk) => (this.text += String(chunk)) !== '';
      try {
        super.printMessages(...given);
      } finally {
        process.stdout.write = write;
      }
    }
  }
  const logger = new Captured(options);
  Logger.overrideLogger(logger);
  new Logger('PaymentBills').log(message);
  Logger.overrideLogger(false);
  return logger.text;
}

interface Pino {
  default(options: object, stream: Writable): { info(fields: object, message: string): void };
}

async function byPino(message: string): Promise<string> {
  let text = '';
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  const path = createRequire(import.meta.url).resolve('pino');
  const pino = (await import(path)) as Pino;
  // As nestjs-pino calls it: the context beside the message.
  pino.default({}, stream).info({ context: 'PaymentBills' }, message);
  return text;
}

const FORMS: [string, (message: string) => string | Promise<string>][] = [
  ["Nest's console", (message) => byConsole({ colors: false }, message)],
  ["Nest's console in colours", (message) => byConsole({ colors: true, timestamp: true }, message)],
  ["Nest's JSON", (message) => byConsole({ json: true, colors: false }, message)],
  ['pino', byPino],
  [
    'a collector of text',
    (message) => `2026-11-23T18:00:00Z stdout F {pod="x"} ${byConsole({ colors: false }, message)}`,
  ],
  ['a collector of JSON', async (message) => `${JSON.stringify({ log: await byPino(message), stream: 'stdout' })}\n`],
];

describe.each(FORMS)('creation records in a log of %s', (_name, written) => {
  test.each(ORDERS)('the creation record of order %j is one log line and can be read back', async (orderId) => {
    const text = await written(lineOf(orderId));
    const lines = text.split('\n').filter((line) => line.includes(PREFIX));
    expect(lines.length).toBe(1);
    expect(await read(lines[0]!)).toEqual(record(orderId));
  });
});

test('a creation record contains no terminal control characters', () => {
  expect(lineOf(HOSTILE)).not.toMatch(/[\p{Cc}\u202e\u2028]/u);
});

test('a creation record that was altered or sealed with an unknown token reads as unsealed', async () => {
  const line = lineOf('A-1');
  expect(await read(line)).toEqual(record('A-1'));
  expect(await read(line, { ...SHOP, previousTokens: [] })).toBe('unsealed');
  const [, text = ''] = / ([\w-]+)\.[0-9a-f]{64}$/.exec(line)!;
  const changed = Buffer.from(JSON.stringify({ ...record('A-1'), orderId: 'expensive' })).toString('base64url');
  expect(await read(line.replace(text, changed))).toBe('unsealed');
  expect(await read(creationLine({ ...record('A-1'), shop: 'nobody' }, TOKEN))).toBe('unsealed');
});

test.each([null, {}, ['main'], 7, undefined])(
  'a forged creation record with the shop %j causes no shop look-up',
  async (shop) => {
    const forged = shop === null ? null : { ...record('A-1'), shop };
    const line = creationLine(record('A-1'), TOKEN);
    const [, text = ''] = / ([\w-]+)\.[0-9a-f]{64}$/.exec(line)!;
    const asked: unknown[] = [];
    const find = (name: string) => Promise.resolve(void asked.push(name));
    const found = readCreationLine(line.replace(text, Buffer.from(JSON.stringify(forged)).toString('base64url')), find);
    expect([await found, asked]).toEqual(['unsealed', []]);
  },
);

test('other log lines hold no creation record, and a truncated record reads as unsealed', async () => {
  const line = lineOf('A-1');
  expect(await read('LOG [PaymentBills] something else {"a":1}')).toBeUndefined();
  for (const cut of [line.slice(0, -20), line.slice(0, -70), `${PREFIX} `]) expect(await read(cut)).toBe('unsealed');
});
