import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { PaymentLogger } from './payment-logger.js';

describe('payment logger', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  test.each(['debug', 'log', 'warn', 'error'] as const)('%s shows what a terminal would obey as a mark', (level) => {
    const lines: unknown[][] = [];
    jest.spyOn(Logger.prototype, level).mockImplementation((...line: unknown[]) => void lines.push(line));
    const orderId = 'o-1\u009b2J\u202e5-o';
    new PaymentLogger('Test')[level](`Order "${orderId}" waits.`, { orderId, attempt: 2 });
    const shown = 'o-1\ufffd2J\ufffd5-o';
    expect(lines).toEqual([[`Order "${shown}" waits.`, { orderId: shown, attempt: 2 }]]);
  });
});
