import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { ClaimedBill } from '../domain/claim.js';
import { CheckClaims } from './check-claims.js';
import { Confirmer } from './confirmer.js';

const NEVER_MS = 3_600_000;
/** As many bills of a shop are checked at once. */
const PLACES = 3;

const billOf = (id: string): ClaimedBill =>
  ({ intentId: id, shop: id[0], billId: id, orderId: id, hints: [] }) as unknown as ClaimedBill;

/** A confirmer on tables of the test's: bills that are due, and checked until the test ends it. */
function setUp() {
  const claims: string[] = [];
  const checks = new Map<string, () => void>();
  const running = new Map<string, number>();
  let due: string[] = [];
  const count = (shop: string, change: number) => running.set(shop, (running.get(shop) ?? 0) + change);
  const parts = {
    checks: {
      claim: (shop: string, _token: string, { limit }: { limit: number }) => {
        const which = due.filter((id) => id.startsWith(shop)).slice(0, limit);
        due = due.filter((id) => !which.includes(id));
        claims.push(...which);
        return Promise.resolve(which.map(billOf));
      },
    },
    billChecks: {
      run: async ({ billId }: ClaimedBill) => {
        await new Promise<void>((end) => checks.set(billId, end));
        return { outcome: 'unchanged', settled: { stale: false, hintsLeft: 0 } };
      },
    },
    requests: {
      free: (shop: string) => PLACES - (running.get(shop) ?? 0),
      requestsPerSecond: () => undefined,
      acquire: (shop: string) => count(shop, 1),
      release: (shop: string) => count(shop, -1),
      isPaused: () => false,
    },
    followed: {
      findDue: () => Promise.resolve({ shops: [...new Set(due.map((id) => id[0]!))], nextMs: null }),
      settingsOf: (shops: readonly string[]) => shops.map((name) => ({ name })),
    },
    clock: { elapsed: () => performance.now() },
    telemetry: {
      span: (_name: string, _options: object, work: (span: object) => unknown) => work({ set: () => undefined }),
    },
    options: { pollMs: NEVER_MS, shutdownTimeoutMs: 1, checks: { concurrency: 16 }, leases: { checkMs: 30_000 } },
    none: {
      closeAbandoned: () => undefined,
      linkForgotten: () => undefined,
      retireWaiting: () => undefined,
      uuid: () => 'token',
    },
  };
  const { requests, followed, none, clock, options } = parts;
  const confirmer = Reflect.construct(Confirmer, [
    Reflect.construct(CheckClaims, [parts.checks, requests, followed, none, options]),
    ...[parts.checks, parts.billChecks, {}, none, none, requests, none, clock, parts.telemetry, options],
  ]) as Confirmer;
  return {
    confirmer,
    claims,
    due: (...ids: string[]) => void due.push(...ids),
    end: (id: string) => checks.get(id)!(),
  };
}

describe('a callback that was stored here', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  test('a callback stored here does not keep the due bills of another shop from a free place', async () => {
    const { confirmer, claims, due, end } = setUp();
    due('a1', 'a2', 'a3', 'a4', 'a5');
    confirmer.start();
    await jest.advanceTimersByTimeAsync(200);
    expect(claims).toEqual(['a1', 'a2', 'a3']);
    due('b1');
    confirmer.wake();
    await jest.advanceTimersByTimeAsync(200);
    for (const id of ['b1', 'a1', 'a2', 'a3']) end(id);
    await jest.advanceTimersByTimeAsync(200);
    expect(claims.slice(3).sort()).toEqual(['a4', 'a5', 'b1']);
  });
});
