import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { SEED } from '../support/seed.js';
import { Lane, type Journey } from './lane.js';

/**
 * `CRASH_POINTS=all npm test -- test/crash` kills at every point. Otherwise, points between which nothing outside the
 * process changes count as one, and the seed selects every third of those.
 */
const ALL = process.env.CRASH_POINTS === 'all';
const TURNS = 3;

let lanes: readonly [Lane, Lane];

describe('crash', () => {
  beforeAll(async () => {
    lanes = await Promise.all([Lane.open(), Lane.open()]);
  });
  afterAll(() => Promise.all(lanes.map((lane) => lane.close())));

  test.each<Journey>(['straight', 'troubled'])(
    `a process killed at any point between two steps leaves everything to be finished: the %s journey (seed ${SEED})`,
    async (journey) => {
      const points = await lanes[0].points(journey);
      // The points are discovered, not listed; these only show that none was missed.
      expect(points).toEqual(expect.arrayContaining(['before createBill', 'before listPayments', 'before handler']));
      const chosen = worthIt(points);
      expect(chosen.size).toBeGreaterThan(0);
      const line = [...points.entries()].filter(([at]) => ALL || chosen.has(at)).values();
      const left = points.length - (ALL ? points.length : chosen.size);
      if (left > 0)
        process.stdout.write(
          `${journey}: ${left} of ${points.length} points left out; npm run test:chaos -- --crash\n`,
        );
      const problems: string[] = [];
      await Promise.all(
        lanes.map(async (lane) => {
          // Both lanes take points from one queue.
          for (const [at, point] of line) {
            await lane.crash(journey, at).catch((error: unknown) => {
              problems.push(`killed at ${at}, ${point}: ${error instanceof Error ? error.message : String(error)}`);
            });
          }
        }),
      );
      expect(problems).toEqual([]);
    },
    1_200_000,
  );

  /** Where processes were killed on earlier journeys: a point, with the two before it. */
  const visited = new Set<string>();

  /**
   * The places where a kill leaves a different state than at the next point, and that no earlier journey reached the
   * same way.
   */
  function worthIt(points: readonly string[]): Set<number> {
    const ways = points.map((_, at) => points.slice(Math.max(0, at - 2), at + 1).join(' > '));
    const chosen = points.flatMap((point, at) =>
      leavesTheSame(point, points[at + 1]) || visited.has(ways[at]!) ? [] : at,
    );
    for (const way of ways) visited.add(way);
    return new Set(chosen.filter((_, index) => index % TURNS === SEED % TURNS));
  }

  /** Whether a kill at either point leaves the same state: nothing happens between them, or only reads. */
  function leavesTheSame(point = '', next = ''): boolean {
    const read = point.startsWith('before SELECT') && next.startsWith('after SELECT');
    return read || (point.startsWith('after ') && next.startsWith('before '));
  }
});
