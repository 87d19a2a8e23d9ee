import { describe, expect, test } from '@jest/globals';
import { ConsoleLogger, Logger } from '@nestjs/common';
import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import { resolved } from '../../../../test/support/units.js';
import { Secret } from '../common/secret.js';
import {
  CREATION_PREFIX,
  creationLine,
  isSealed,
  readCreationLine,
  type CreationRecord,
  type LoggedCreation,
} from './creation-log.js';

const TOKEN = new Secret('token-0123456789');
const lineOf = (orderId: string): string => creationLine(record(orderId), TOKEN);
const SHOP = resolved().shops.get('main')!;
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
const HOSTILE = `A\n${CREATION_PREFIX} {"version":1}\u001b[31m"}\\u000a{\u2028\u202e%s%o\ud800`;
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

describe.each(FORMS)('in a log of %s', (_name, written) => {
  test.each(ORDERS)('the record of order %j is one line, and read again', async (orderId) => {
    const text = await written(lineOf(orderId));
    const lines = text.split('\n').filter((line) => line.includes(CREATION_PREFIX));
    expect(lines.length).toBe(1);
    expect(readCreationLine(lines[0]!)).toEqual({ record: record(orderId), seal: expect.any(String) });
  });
});

test('nothing in it is obeyed by a terminal', () => {
  expect(lineOf(HOSTILE)).not.toMatch(/[\p{Cc}\u202e\u2028]/u);
});

test('one that a stranger had logged has no seal of the shop: each of its fields is under it', () => {
  const shop = { ...SHOP, token: new Secret('another-token'), previousTokens: [TOKEN] };
  const read = (line: string) => readCreationLine(line) as LoggedCreation;
  const own = read(lineOf('A-1'));
  expect(isSealed(own, shop)).toBe(true);
  expect(isSealed(own, { ...shop, previousTokens: [] })).toBe(false);
  expect(isSealed({ ...own, seal: '' }, shop)).toBe(false);
  for (const name of Object.keys(own.record) as (keyof CreationRecord)[]) {
    const value = name === 'payerPaysCommission' ? true : 'another';
    expect(isSealed({ ...own, record: { ...own.record, [name]: value } }, shop)).toBe(false);
  }
});

test('other lines have none; one that is cut off, or of a later release, is said to be unreadable', () => {
  const line = lineOf('A-1');
  expect(readCreationLine('LOG [PaymentBills] something else {"a":1}')).toBeUndefined();
  expect(readCreationLine(line.slice(0, -20))).toBe('unreadable');
  expect(readCreationLine(`{"msg":${JSON.stringify(line).slice(0, -20)}`)).toBe('unreadable');
  expect(readCreationLine(line.replace('"version":1', '"version":2'))).toBe('unreadable');
  expect(readCreationLine(line.replace('"amount":"100.05"', '"amount":100.05'))).toBe('unreadable');
});
