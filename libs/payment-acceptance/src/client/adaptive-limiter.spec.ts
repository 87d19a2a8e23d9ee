import { describe, expect, test } from '@jest/globals';
import { AdaptiveLimiter, type RequestEnd } from './adaptive-limiter.js';

const CEILINGS = [128, 1_000] as const;

/** The service's reaction to a request, given the time and the number of concurrent requests. */
type Service = (now: number, atOnce: number) => { readonly end: RequestEnd; readonly latencyMs: number };

interface Second {
  requests: number;
  refused: number;
  /** Requests that are due at the end of the second. */
  waiting: number;
  mostAtOnce: number;
}

/** Simulates instances with a limiter each, which take due requests from one queue at the rates they learn. */
function simulate(service: Service, perSecond: (second: number) => number, seconds: number, instances = 1): Second[] {
  let now = 0;
  const limiters = Array.from({ length: instances }, () => new AdaptiveLimiter(...CEILINGS, () => now));
  const running: { at: number; finish(): void }[] = [];
  const log: Second[] = [];
  let waiting = 0;
  let arrived = 0;
  let start = -1_000;
  for (; now < seconds * 1_000; now += 1) {
    const second = Math.floor(now / 1_000);
    log[second] ??= { requests: 0, refused: 0, waiting: 0, mostAtOnce: 0 };
    const entry = log[second];
    for (let index = running.length - 1; index >= 0; index -= 1) {
      if (running[index]!.at <= now) running.splice(index, 1)[0]!.finish();
    }
    arrived += perSecond(second) / 1_000;
    for (; arrived >= 1; arrived -= 1) waiting += 1;
    for (const limiter of limiters) {
      start = Math.max(start, now - 1_000);
      const tokens = Math.floor(((now - start) / 1_000) * limiter.requestsPerSecond);
      const taken = Math.min(limiter.free, waiting, tokens);
      start += (taken * 1_000) / limiter.requestsPerSecond;
      for (let count = 0; count < taken; count += 1) {
        waiting -= 1;
        limiter.acquire();
        const ended = limiter.begin();
        const { end, latencyMs } = service(now, running.length);
        entry.requests += 1;
        if (end !== 'answered') entry.refused += 1;
        running.push({
          at: now + latencyMs,
          finish() {
            limiter.release();
            ended(end);
            if (end !== 'answered') waiting += 1;
          },
        });
      }
    }
    entry.mostAtOnce = Math.max(entry.mostAtOnce, running.length);
    entry.waiting = waiting;
  }
  return log;
}

/** Refuses requests beyond this number in any second. */
function counting(perSecond: number): Service {
  const accepted: number[] = [];
  return (now) => {
    while (accepted.length > 0 && accepted[0]! <= now - 1_000) accepted.shift();
    if (accepted.length >= perSecond) return { end: 'too-many', latencyMs: 20 };
    accepted.push(now);
    return { end: 'answered', latencyMs: 50 };
  };
}

const sum = (log: readonly Second[], of: 'requests' | 'refused'): number =>
  log.reduce((total, second) => total + second[of], 0);

describe('AdaptiveLimiter', () => {
  test.each([300, 500])(
    'the limiter keeps up with 100 requests a second at a service that answers in %i ms',
    (latencyMs) => {
      const log = simulate(
        () => ({ end: 'answered', latencyMs }),
        () => 100,
        30,
      );
      expect(Math.max(...log.slice(5).map(({ waiting }) => waiting))).toBeLessThan(20);
    },
  );

  test('the limiter starts a large backlog at low concurrency and doubles it each second', () => {
    const log = simulate(
      () => ({ end: 'answered', latencyMs: 1_000 }),
      (second) => (second === 0 ? 1_000_000 : 0),
      4,
    );
    expect(log.map(({ mostAtOnce }) => mostAtOnce)).toEqual([8, 16, 32, 64]);
  });

  test('the limiter keeps a service that allows 20 requests a second busy, with under 5% refused', () => {
    const log = simulate(counting(20), () => 40, 120).slice(30);
    expect(sum(log, 'refused')).toBeLessThan(0.05 * sum(log, 'requests'));
    expect(sum(log, 'requests') - sum(log, 'refused')).toBeGreaterThan(0.75 * 20 * 90);
  });

  test('two limiters unaware of each other keep refusals by a shared service under 5%', () => {
    const log = simulate(counting(20), () => 40, 120, 2).slice(30);
    expect(sum(log, 'refused')).toBeLessThan(0.05 * sum(log, 'requests'));
  });

  test('the limiter probes a dead service about once a second, and catches up within a minute without a burst', () => {
    const service: Service = (now, atOnce) =>
      now >= 20_000 && now < 80_000
        ? { end: 'failed', latencyMs: 10 }
        : { end: 'answered', latencyMs: Math.max(300, 3 * atOnce) };
    const log = simulate(service, () => 60, 140);
    expect(Math.max(...log.slice(25, 80).map(({ requests }) => requests))).toBeLessThanOrEqual(2);
    expect(Math.max(...log.slice(80).map(({ requests }) => requests))).toBeLessThanOrEqual(2 * 333);
    expect(log.at(-1)!.waiting).toBeLessThan(60);
  });

  test('the limiter quickly relearns the capacity of a service that was away under load', () => {
    const service: Service = (now, atOnce) =>
      now >= 20_000 && now < 80_000
        ? { end: 'failed', latencyMs: 10 }
        : { end: 'answered', latencyMs: Math.max(300, (1_000 / 300) * atOnce) };
    const log = simulate(service, () => 100, 140);
    expect(log[90]!.requests).toBeGreaterThan(250);
    expect(log.findIndex(({ waiting }, second) => second > 80 && waiting < 100)).toBeLessThan(80 + 45);
    expect(Math.max(...log.slice(80).map(({ requests }) => requests))).toBeLessThanOrEqual(2 * 300);
  });

  test('the limiter lowers its concurrency when requests queue up in the service', () => {
    const slow: Service = (_now, atOnce) => ({
      end: 'answered',
      latencyMs: atOnce < 20 ? 100 : 100 + (atOnce - 20) * 30,
    });
    const log = simulate(slow, () => 1_000, 60).slice(20);
    expect(Math.max(...log.map(({ mostAtOnce }) => mostAtOnce))).toBeLessThan(60);
  });

  test('the limiter does not throttle a service that is slow at any load', () => {
    const log = simulate(
      (now) => ({ end: 'answered', latencyMs: now < 10_000 ? 50 : 600 }),
      () => 60,
      60,
    );
    expect(Math.max(...log.slice(-10).map(({ waiting }) => waiting))).toBeLessThan(60);
  });

  test('the limiter does not throttle because one request in ten fails', () => {
    let asked = 0;
    const log = simulate(
      () => ({ end: (asked += 1) % 10 === 0 ? 'failed' : 'answered', latencyMs: 300 }),
      () => 60,
      30,
    );
    expect(Math.max(...log.slice(5).map(({ waiting }) => waiting))).toBeLessThan(30);
  });

  test('the limiter pauses as long as the service asks, and a minute at most', () => {
    let now = 0;
    const limiter = new AdaptiveLimiter(...CEILINGS, () => now);
    limiter.begin()('too-many', 5_000);
    expect(limiter.free).toBe(0);
    now = 5_000;
    expect(limiter.free).toBeGreaterThan(0);
    limiter.begin()('too-many', 3_600_000);
    now += 60_000;
    expect(limiter.free).toBeGreaterThan(0);
  });

  test('the limiter never exceeds its ceilings', () => {
    let now = 0;
    const limiter = new AdaptiveLimiter(3, 7, () => now);
    for (let round = 0; round < 100; round += 1) {
      const taken = limiter.free;
      expect(taken).toBeLessThanOrEqual(3);
      expect(limiter.requestsPerSecond).toBeLessThanOrEqual(7);
      const ends = Array.from({ length: taken }, () => (limiter.acquire(), limiter.begin()));
      now += 100;
      for (const end of ends) {
        end('answered');
        limiter.release();
      }
    }
  });
});
