import { describe, expect, test } from '@jest/globals';
import { readTraceparent, writeTraceparent } from './telemetry.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

describe('a traceparent', () => {
  test.each([0, 1, 0xff])('a traceparent with the flags %i is read as it was written', (traceFlags) => {
    const span = { traceId: TRACE, spanId: SPAN, traceFlags };
    expect(readTraceparent(writeTraceparent(span))).toEqual(span);
  });

  test('a traceparent is written as in the W3C recommendation', () => {
    expect(writeTraceparent({ traceId: TRACE, spanId: SPAN, traceFlags: 1 })).toBe(`00-${TRACE}-${SPAN}-01`);
  });

  test.each(['', 'nonsense', `00-${TRACE}-${SPAN}`, `01-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-01-more`])(
    'an unreadable traceparent names no span: %s',
    (text) => expect(readTraceparent(text)).toBeUndefined(),
  );

  test('a traceparent of zeros names no span', () => {
    expect(readTraceparent(`00-${'0'.repeat(32)}-${SPAN}-01`)).toBeUndefined();
    expect(readTraceparent(`00-${TRACE}-${'0'.repeat(16)}-01`)).toBeUndefined();
  });
});
