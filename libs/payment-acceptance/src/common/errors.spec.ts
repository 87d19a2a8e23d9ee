import { describe, expect, test } from '@jest/globals';
import { describeError, errorType, isMarked } from './errors.js';

class Unreadable extends Error {
  override get message(): string {
    throw new Error('no message');
  }
}

describe('anything that can be thrown is described', () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  test.each<[string, unknown]>([
    ['an object without a prototype', Object.create(null)],
    ['a revoked proxy', proxy],
    ['an error that cannot be read', Object.create(Unreadable.prototype)],
  ])('describing a thrown value never throws: %s', (_what, thrown) => {
    expect(describeError(thrown)).toBe('A value that cannot be described was thrown.');
    expect(errorType(thrown)).toEqual(expect.any(String));
    expect(isMarked(thrown, Symbol('mark'))).toBe(false);
  });

  test('describing an error never throws, however long its message is, and masks a card at the cut', () => {
    const error = new Error(`mail failed: ${'255,'.repeat(2_000_000)}`);
    expect(describeError(error)).toMatch(/^Error: mail failed: 255,.*…$/);
    const cut = new Error(`${'x'.repeat(480)} 4111 1111 1111 1111 ${'y'.repeat(2_000)}`);
    expect(describeError(cut)).not.toMatch(/4111 1111 11/);
    for (let pad = 0; pad < 60; pad += 1) {
      const shortened = `card 4111111111111111 ${'&#0000032;'.repeat(120)}${'x'.repeat(pad)} 5555555555554444 of Ann`;
      expect(describeError(new Error(shortened))).not.toMatch(/5{7}/);
    }
  });

  test.each([
    [null, 'null', 'unknown'],
    [undefined, 'undefined', 'unknown'],
    ['text', 'text', 'unknown'],
    [new AggregateError([]), 'AggregateError', 'AggregateError'],
    [Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }), 'AggregateError: ECONNREFUSED', 'ECONNREFUSED'],
    [{ message: 'no such row', code: 'E_ROW' }, 'no such row', 'E_ROW'],
    [Object.assign(new Error('no'), { message: { not: 'text' } }), 'Error', 'Error'],
    [{ hint: 'none' }, '[object Object]', 'unknown'],
    [new TypeError('no'), 'TypeError: no', 'TypeError'],
    [Object.assign(new Error('no'), { code: 'E_NO' }), 'Error: no', 'E_NO'],
    [Object.assign(new Error('no'), { code: 'Jane Roe' }), 'Error: no', 'Error'],
    [Object.assign(new Error('no'), { name: 'Jane Roe' }), 'Jane Roe: no', 'unknown'],
    [
      new Error('no', { cause: new Error('Failed query\nparams: Jane Roe') }),
      'Error: no (Error: Failed query)',
      'Error',
    ],
    [new Error('not stored', { cause: new TypeError('full') }), 'Error: not stored (TypeError: full)', 'Error'],
    [new Error('not stored: full', { cause: new TypeError('full') }), 'Error: not stored: full', 'Error'],
    [
      new Error('Failed query: insert\nparams: A Name,7', { cause: new Error('duplicate key') }),
      'Error: Failed query: insert (Error: duplicate key)',
      'Error',
    ],
  ])('a thrown value is described with its text and type: %s', (thrown, text, type) => {
    expect([describeError(thrown), errorType(thrown)]).toEqual([text, type]);
  });
});
