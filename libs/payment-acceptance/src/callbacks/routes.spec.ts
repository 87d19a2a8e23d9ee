import { describe, expect, test } from '@jest/globals';
import { PaymentConfigurationError } from '../config/configuration.error.js';
import type { PaymentRoutesOptions } from '../config/extras.js';
import { relativePath, resolveRoutes } from './routes.js';

const problems = (options: PaymentRoutesOptions): readonly string[] => {
  try {
    resolveRoutes(options);
    return [];
  } catch (error) {
    if (error instanceof PaymentConfigurationError) return error.problems;
    throw error;
  }
};

describe('the callback routes', () => {
  test('the callback routes have the paths of the specification by default', () => {
    expect(resolveRoutes({})).toMatchObject({
      redirect: {
        success: 'redirect/payment/success',
        fail: 'redirect/payment/fail',
        result: 'redirect/payment/result',
        decorators: [],
        classDecorators: [],
      },
      postback: { path: 'postback/payment', decorators: [], classDecorators: [] },
    });
  });

  test('callback routes take a common prefix and paths of their own, and each can be switched off', () => {
    const { redirect, postback } = resolveRoutes({
      path: '/pay/',
      redirect: { successPath: 'thanks', failPath: '/sorry/', resultPath: 'result/of' },
      postback: { path: 'hooks/payment' },
    });
    expect(redirect).toMatchObject({ success: 'pay/thanks', fail: 'pay/sorry', result: 'pay/result/of' });
    expect(postback?.path).toBe('pay/hooks/payment');
    expect(resolveRoutes({ redirect: false })).toMatchObject({ redirect: undefined, postback: {} });
    expect(resolveRoutes({ redirect: true, postback: false })).toMatchObject({ redirect: {}, postback: undefined });
  });

  test('callback routes get the common decorators first, then their own', () => {
    const [a, b, c, d] = [1, 2, 3, 4].map(() => () => undefined);
    const routes = resolveRoutes({
      decorators: [a!],
      classDecorators: [b!],
      redirect: { decorators: [c!] },
      postback: { classDecorators: [d!] },
    });
    expect(routes.redirect).toMatchObject({ decorators: [a, c], classDecorators: [b] });
    expect(routes.postback).toMatchObject({ decorators: [a], classDecorators: [b, d] });
  });

  test.each([
    [{ redirects: {} }, 'routes.redirects: unknown option.'],
    [{ redirect: 'pay' }, 'routes.redirect: must be an object of options or true or false.'],
    [
      { postback: { path: 7 } },
      'routes.postback.path: must be one or more path segments of letters, digits, ".", "_", "~" and "-", separated by "/".',
    ],
    [{ decorators: {} }, 'routes.decorators: must be a list of decorators (given: object).'],
  ])('the route options %j are refused: %s', (options, problem) => {
    expect(problems(options as PaymentRoutesOptions)).toEqual([problem]);
  });

  test('callback routes with equal paths or with patterns in a path are refused', () => {
    expect(problems({ redirect: { successPath: 'back', failPath: 'back/' } })).toEqual([
      'routes.redirect.failPath: is also the path of routes.redirect.successPath. Give each its own path.',
    ]);
    expect(problems({ redirect: { resultPath: 'x' }, postback: { path: 'x' } })[0]).toContain(
      'routes.postback.path: is',
    );
    for (const path of ['', '/', '..', './a', 'a/../b', ':id', 'a/*', 'a b', 'a?b', 'http://a/b']) {
      expect(problems({ postback: { path } })).toEqual([expect.stringContaining('routes.postback.path: must be')]);
    }
    for (const path of ['zahlung/ü', 'a b', '..', 'a#b', 'a*']) {
      expect(problems({ path })).toEqual([
        expect.stringContaining('routes.path: must be one or more path segments of letters'),
      ]);
    }
  });

  test('a callback route below another one is refused: its last part would be taken for a shop', () => {
    expect(
      problems({ redirect: { successPath: 'pay', failPath: 'pay/fail' }, postback: { path: 'pay/fail/x' } }),
    ).toEqual([
      'routes.redirect.failPath: is below routes.redirect.successPath, where its last part would be taken for a shop. Give it another path.',
      'routes.postback.path: is below routes.redirect.failPath, where its last part would be taken for a shop. Give it another path.',
    ]);
    expect(problems({ redirect: { resultPath: 'postback/payment/result' } })).toEqual([]);
  });
});

test.each([
  ['a/success', 'a/result', 0, 'result'],
  ['a/success', 'a/result', 1, '../result'],
  ['success', 'result', 2, '../../result'],
  ['a/b/success', 'c/result', 0, '../../c/result'],
  ['a/b/success', 'a/result', 1, '../../result'],
  ['a', 'a/result', 0, 'a/result'],
  ['a/b', 'a', 0, '../a'],
])('the relative path from %s to %s, %d levels deeper, is %s', (from, to, deeper, path) => {
  expect(relativePath(from, to, deeper)).toBe(path);
  const base = `http://host/prefix/${from}${'/x'.repeat(deeper)}`;
  expect(new URL(path, base).pathname).toBe(`/prefix/${to}`);
});
