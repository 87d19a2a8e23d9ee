import { expect, test } from '@jest/globals';
import { uuidFromName } from './uuid.js';

test('uuidFromName gives the same version 8 UUID for the same name, and another one for another name', () => {
  expect(uuidFromName('payment.succeeded:main:p-1')).toBe(uuidFromName('payment.succeeded:main:p-1'));
  expect(uuidFromName('payment.succeeded:main:p-1')).toMatch(
    /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
  expect(uuidFromName('payment.succeeded:main:p-1')).not.toBe(uuidFromName('payment.succeeded:eu:p-1'));
});
