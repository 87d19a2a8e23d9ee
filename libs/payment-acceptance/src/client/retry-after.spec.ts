import { describe, expect, test } from '@jest/globals';
import { retryAfterMs } from './service-answer.js';

describe('Retry-After', () => {
  const now = new Date('2026-11-21T12:00:00Z');
  test.each([
    [undefined, undefined],
    ['0', 0],
    ['120', 120_000],
    ['Sat, 21 Nov 2026 12:00:30 GMT', 30_000],
    ['Sat, 21 Nov 2026 11:00:00 GMT', 0],
    ['soon', undefined],
    ['', undefined],
  ])('Retry-After %j is a pause of %j ms', (header, ms) => {
    expect(retryAfterMs(header, now)).toBe(ms);
  });
});
