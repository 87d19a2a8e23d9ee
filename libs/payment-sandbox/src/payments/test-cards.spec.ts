import { expect, test } from '@jest/globals';
import { cardDigits, maskCard, spacedCard, TEST_CARDS } from './test-cards.js';

test('a card number is 13 to 19 digits with the right check digit, spaced as one likes', () => {
  expect(cardDigits('4111 1111-1111 1111')).toBe('4111111111111111');
  expect(cardDigits('4222222222222')).toBe('4222222222222');
  for (const text of ['', '4111111111111112', '411111111111', '4111x11111111111', '٤١١١١١١١١١١١١١١١']) {
    expect(cardDigits(text)).toBeUndefined();
  }
  for (const { number } of TEST_CARDS) expect(cardDigits(spacedCard(number))).toBe(number);
});

test('a masked card shows its first six and last four digits, with six asterisks between', () => {
  expect(maskCard('4111111111111111')).toBe('411111******1111');
  expect(maskCard('4222222222222')).toBe('422222******2222');
});
