import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { inspect } from 'node:util';
import { LOG_LEVELS, type LogCode } from './log-lines.js';
import { PaymentLogger, type LogFields } from './payment-logger.js';

interface Written {
  readonly message: string;
  toString(): string;
}

describe('payment logger', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  /** Returns what Nest's logger is given. */
  function written(code: LogCode, message: string, fields?: LogFields): Written {
    const lines: unknown[][] = [];
    const level = LOG_LEVELS[code];
    jest.spyOn(Logger.prototype, level).mockImplementation((...line: unknown[]) => void lines.push(line));
    new PaymentLogger('Test').write(code, message, fields);
    expect(lines).toEqual([[expect.any(Object)]]);
    return lines[0]?.[0] as Written;
  }

  test.each([
    ['debug', 'check-stale'],
    ['log', 'shop-accepted'],
    ['warn', 'check-failed'],
    ['error', 'delivery-dead'],
  ] as const)('a log line at level %s shows terminal control characters as a mark', (level, code) => {
    expect(LOG_LEVELS[code]).toBe(level);
    const orderId = 'o-1\u009b2J\u202e5-o';
    const line = written(code, `Order "${orderId}" waits.`, { orderId, attempt: 2, billId: null });
    const shown = 'o-1\ufffd2J\ufffd5-o';
    expect({ ...line }).toEqual({ code, msg: `Order "${shown}" waits.`, orderId: shown, attempt: 2 });
  });

  test('a log line is an object for JSON and pino, and one readable line as text', () => {
    const line = written('check-failed', 'Bill b-1 waits.', { shop: 'main', attempt: 2 });
    const text = "check-failed: Bill b-1 waits. { shop: 'main', attempt: 2 }";
    expect([String(line), inspect(line, { depth: 0, compact: false })]).toEqual([text, text]);
    expect(JSON.stringify(line)).toBe('{"code":"check-failed","msg":"Bill b-1 waits.","shop":"main","attempt":2}');
    expect(line.message).toBe('Bill b-1 waits.');
    expect(String(written('wake-ups-restored', 'Heard again.'))).toBe('wake-ups-restored: Heard again.');
  });

  test('a log line masks card numbers and leaves ids as they are', () => {
    const number = '4111111111111111';
    const line = written('callback-not-stored', 'Not stored.', {
      shop: number,
      orderId: number,
      routes: [`/${number}`],
    });
    expect(line).toMatchObject({ shop: '411111******1111', orderId: number, routes: ['/411111******1111'] });
  });

  test('a logger that throws does not stop what is logged', () => {
    jest.spyOn(Logger.prototype, 'error').mockImplementation(() => {
      throw new Error('the disk is full');
    });
    const warned = jest.spyOn(process, 'emitWarning').mockReturnValue();
    new PaymentLogger('Test').write('delivery-dead', 'It failed for good.');
    expect(warned).toHaveBeenCalledWith(
      'The logger of the application failed. Error: the disk is full The line: delivery-dead: It failed for good.',
    );
  });
});
