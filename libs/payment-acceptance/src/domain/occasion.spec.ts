import { describe, expect, test } from '@jest/globals';
import { occasionOfReview } from './occasion.js';

const at = (hours: number): Date => new Date(Date.UTC(2026, 0, 1) + hours * 3_600_000);
const closed = { open: 0, closed: 2, lastClosedAt: at(10) };

describe('a review of a bill as a whole', () => {
  test('a review of a whole bill opens the first time, and never beside one that is open', () => {
    expect(occasionOfReview({ open: 0, closed: 0, lastClosedAt: null }, [], at(0))).toBe('');
    expect(occasionOfReview({ ...closed, open: 1 }, [{ receivedAt: at(11) }], at(99))).toBeUndefined();
  });

  test('a review of a whole bill opens again after a callback that came after it was closed', () => {
    expect(occasionOfReview(closed, [{ receivedAt: at(9) }, { receivedAt: at(10) }], at(12))).toBeUndefined();
    expect(occasionOfReview(closed, [{ receivedAt: at(9) }, { receivedAt: at(11) }], at(12))).toBe('2');
  });

  test('a review of a whole bill opens again a day after it was closed, without a callback', () => {
    expect(occasionOfReview(closed, [], new Date(at(34).getTime() - 1))).toBeUndefined();
    expect(occasionOfReview(closed, [], at(34))).toBe('2');
  });
});
